// The fourth reader (see readers.py): pi's own RpcClient, in Node.
// node rpc_client.mjs PATH_OF_RPC_CLIENT COMMAND… reads the turns of a child started by COMMAND.
// RpcClient starts `node FILE --mode rpc …`: this file is that FILE too, and hands its pipes on to COMMAND.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const [first, ...rest] = process.argv.slice(2);

if (first === "--mode") {
    const [command, ...args] = rest.slice(1);
    spawn(command, args, { stdio: "inherit" }).on("exit", (code) => process.exit(code ?? 1));
} else {
    const { RpcClient } = await import(first);
    const client = new RpcClient({ cliPath: fileURLToPath(import.meta.url), args: rest });
    let settled = () => {};
    client.onEvent((event) => {
        if (event.type === "agent_settled") settled();
    });
    await client.start();
    for await (const _ of createInterface({ input: process.stdin })) {
        const cpu = process.cpuUsage();
        const wall = process.hrtime.bigint();
        const over = new Promise((resolve) => (settled = resolve));
        await client.prompt("hello");
        await over;
        const spent = process.cpuUsage(cpu);
        const passed = Number(process.hrtime.bigint() - wall);
        process.stdout.write(`${JSON.stringify({ cpu: (spent.user + spent.system) * 1000, wall: passed })}\n`);
    }
    await client.stop();
}
