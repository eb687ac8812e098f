// Holds every conversation that it is given, one after another, and prints what came of each as a line of JSON.
// `hold` is the client's own part: it takes a conversation and says what was got.

import { readFileSync } from 'node:fs';

const CONVERSATION_MS_MAX = 20_000;

export async function holdAll(hold) {
  const { conversations } = JSON.parse(readFileSync(process.env.CONVERSATIONS, 'utf8'));
  for (const conversation of conversations) {
    const got = await Promise.race([hold(conversation), late()]).catch((fault) => ({ broken: describe(fault) }));
    process.stdout.write(`${JSON.stringify({ conversation: conversation.name, got })}\n`);
  }
  process.exit(0); // what still waits in the background is not waited for
}

async function late() {
  await new Promise((resolve) => setTimeout(resolve, CONVERSATION_MS_MAX).unref());
  throw new Error('it takes too long');
}

function describe(fault) {
  return `${fault?.stack ?? fault}`.slice(0, 2_000);
}
