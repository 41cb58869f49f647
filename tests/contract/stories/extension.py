"""The extension that the real pi is given: what the fake's script words and commands do, done by pi's own means."""

EXTENSION = """
export default function (pi: any) {
  const word = (text: string) => text.split(/\\s+/)[0];
  let newest = "";
  pi.on("input", async (event: any, ctx: any) => {
    newest = event.text;
    if (word(newest) === "handled") return { action: "handled" };
    if (word(newest) === "hookdialog") {
      if (!(await ctx.ui.confirm("hook?", "x"))) return { action: "handled" };
    }
    if (word(newest) === "lateresponse") await new Promise((done) => setTimeout(done, Number(newest.split(/\\s+/)[1])));
  });
  pi.on("tool_call", async (event: any, ctx: any) => {
    const asks = { tooldialog: 1, dialog2: 2 }[word(newest)] ?? 0;
    let good = true;
    if (asks > 0) good = (await ctx.ui.confirm("Run bash?", event.input.command)) && good;
    if (asks > 1) good = (await ctx.ui.confirm("Really?", "Once more.")) && good;
    if (!good) return { block: true, reason: "refused by the user" };
  });
  const command = (name: string, description: string, handler: any) =>
    pi.registerCommand(name, { description, handler });
  command("ask", "asks things", async (args: string, ctx: any) => {
    const picked = await ctx.ui.select("Pick one", ["red", "green"]);
    const typed = await ctx.ui.input("Type", "placeholder");
    const edited = await ctx.ui.editor("Edit", "prefill");
    ctx.ui.notify(`picked ${picked}, typed ${typed}, edited ${edited}`, "info");
    ctx.ui.setStatus("k", "status text");
    ctx.ui.setWidget("w", ["line one", "line two"]);
    ctx.ui.setTitle("title");
    ctx.ui.setEditorText("editor text");
  });
  command("boom", "throws", async () => { throw new Error("boom from the extension"); });
  command("say", "starts a run by itself", async (args: string) => {
    pi.sendUserMessage(`message from the extension: ${args}`);
  });
  command("later", "starts a run a little later", async (args: string) => {
    setTimeout(() => pi.sendUserMessage(`EXT RUN ${args}`), 40);
  });
  command("do", "starts a run of these words", async (args: string) => { pi.sendUserMessage(args); });
  command("log", "prints", async () => {
    console.log("console.log from extension");
    console.error("console.error from extension");
    process.stdout.write("raw stdout write\\n");
  });
  command("nothing", "does nothing", async () => {});
}
"""
