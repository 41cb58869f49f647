// A bot on discord.js as it comes from npm: `node discord_js_bot.mjs FOLDER API`, the token on standard input.
// It replies to each message and tells on standard output, one JSON object a line, what it heard. It ends with its input.
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [folder, api] = process.argv.slice(2);
const { Client, Events, GatewayIntentBits } = createRequire(`${folder}/package.json`)("discord.js");

const tell = (event, more = {}) => process.stdout.write(`${JSON.stringify({ event, ...more })}\n`);

const { Guilds, GuildMessages, MessageContent } = GatewayIntentBits;
const client = new Client({ intents: [Guilds, GuildMessages, MessageContent], rest: { api } });

client.on(Events.ClientReady, ({ user, guilds }) => {
  tell("ready", { user: user.id, guilds: guilds.cache.map((guild) => guild.name) });
});
client.on(Events.ShardReconnecting, () => tell("reconnecting"));
client.on(Events.ShardResume, (_shard, replayed) => tell("resumed", { replayed }));
client.on(Events.Error, (error) => tell("error", { text: String(error) }));
client.on(Events.Warn, (text) => tell("warn", { text }));
client.on(Events.MessageCreate, async (message) => {
  if (message.author.id === client.user.id) return;
  const place = message.channel.name;
  tell("message", { id: message.id, author: message.author.username, place, content: message.content });
  const reply = await message.reply(`heard: ${message.content}`);
  tell("replied", { id: reply.id, to: reply.reference.messageId });
});

const lines = createInterface({ input: process.stdin });
lines.once("line", (token) => client.login(token).catch((error) => tell("error", { text: String(error) })));
lines.once("close", () => client.destroy());
