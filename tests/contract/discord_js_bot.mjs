// A bot on discord.js as it comes from npm: `node discord_js_bot.mjs FOLDER API`, the token on standard input.
// It does what a message asks for, answers interactions, and tells on standard output, one JSON object a line, what it
// heard and did. It ends with its input.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, api] = process.argv.slice(2);
const discord = createRequire(`${folder}/package.json`)("discord.js");
const { ActionRowBuilder, ButtonBuilder, ButtonStyle, Client, Events, GatewayIntentBits, MessageFlags } = discord;
const { ModalBuilder, Partials, StringSelectMenuBuilder, TextInputBuilder, TextInputStyle } = discord;

const tell = (event, more = {}) => process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);

const { DirectMessages, Guilds, GuildMessages, GuildMessageReactions, MessageContent } = GatewayIntentBits;
const client = new Client({
  intents: [DirectMessages, Guilds, GuildMessages, GuildMessageReactions, MessageContent],
  partials: [Partials.Channel], // else it does not hear private messages
  rest: { api },
});

const COMMANDS = [
  {
    name: "ask",
    description: "Ask something",
    options: [{ type: 3, name: "what", description: "What to ask", required: true, autocomplete: true }],
  },
];

const row = (...parts) => new ActionRowBuilder().addComponents(...parts);

const acts = {
  async card(message) {
    const more = new ButtonBuilder().setCustomId("more").setLabel("More").setStyle(ButtonStyle.Primary);
    const pick = new StringSelectMenuBuilder()
      .setCustomId("pick")
      .addOptions({ label: "Red", value: "red" }, { label: "Green", value: "green" });
    return message.reply({ content: "a card", components: [row(more), row(pick)] });
  },
  async commands(message) {
    const set = await client.application.commands.set(COMMANDS);
    return message.reply(`commands: ${set.map((command) => command.name)}`);
  },
  async deletes(message) {
    const reply = await message.reply("not for long");
    await reply.delete();
    return message.reply("deleted");
  },
  async edit(message) {
    const reply = await message.reply("first");
    return reply.edit("second");
  },
  async file(message) {
    const heard = message.attachments.first();
    const text = heard ? await (await fetch(heard.url)).text() : "";
    const files = [{ attachment: Buffer.from(`back: ${text}`), name: "back.txt", description: "what came" }];
    return message.reply({ content: `${heard?.name} ${heard?.size}`, files });
  },
  async history(message) {
    const found = await message.channel.messages.fetch({ limit: 5 });
    return message.reply(`history: ${found.map((each) => each.content).join(", ")}`);
  },
  async react(message) {
    await message.react("👀");
    await message.channel.sendTyping();
    await message.reactions.cache.first()?.users.remove(client.user.id);
    return message.reply("reacted");
  },
  async thread(message) {
    const thread = await message.startThread({ name: "a thread" });
    await thread.setName("renamed");
    return thread.send("in the thread");
  },
};

client.on(Events.ClientReady, ({ user, guilds }) => {
  tell("ready", { user: user.id, guilds: guilds.cache.map((guild) => guild.name) });
});
client.on(Events.ShardReconnecting, () => tell("reconnecting"));
client.on(Events.ShardResume, (_shard, replayed) => tell("resumed", { replayed }));
client.on(Events.Error, (error) => tell("error", { text: String(error) }));
client.on(Events.Warn, (text) => tell("warn", { text }));
client.rest.on("response", ({ method }, { status }) => status === 429 && tell("limited", { method }));

const whole = (act) => async (given) => {
  try {
    await act(given);
  } catch (error) {
    tell("error", { text: String(error?.stack ?? error) });
  }
};

client.on(
  Events.MessageCreate,
  whole(async (message) => {
    if (message.author.id === client.user.id) return;
    const place = message.channel.name ?? "private";
    tell("message", { id: message.id, author: message.author.username, place, content: message.content });
    const act = acts[message.content] ?? (() => message.reply(`heard: ${message.content}`));
    const reply = await act(message);
    tell("replied", { id: reply.id, to: reply.reference?.messageId ?? null });
  }),
);
client.on(
  Events.InteractionCreate,
  whole(async (interaction) => {
    if (interaction.isAutocomplete()) {
      const typed = interaction.options.getFocused();
      await interaction.respond([{ name: `${typed}…`, value: `${typed} and more` }]);
    } else if (interaction.isChatInputCommand()) {
      await interaction.deferReply({ flags: MessageFlags.Ephemeral });
      await interaction.editReply(`asked: ${interaction.options.getString("what")}`);
      const further = await interaction.followUp({ content: "further", flags: MessageFlags.Ephemeral });
      await interaction.webhook.editMessage(further.id, "further still");
    } else if (interaction.isButton()) {
      const text = new TextInputBuilder().setCustomId("text").setLabel("Text").setStyle(TextInputStyle.Short);
      const modal = new ModalBuilder().setCustomId("form").setTitle("A form").addComponents(row(text));
      await interaction.showModal(modal);
    } else if (interaction.isModalSubmit()) {
      await interaction.reply(`filled in: ${interaction.fields.getTextInputValue("text")}`);
    } else if (interaction.isStringSelectMenu()) {
      await interaction.update({ content: `picked ${interaction.values}`, components: [] });
    }
    tell("answered", { kind: interaction.type });
  }),
);

const lines = createInterface({ input: process.stdin });
lines.once("line", (token) => client.login(token).catch((error) => tell("error", { text: String(error) })));
lines.once("close", () => client.destroy());
