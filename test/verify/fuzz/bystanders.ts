// Clients that behave, of other accounts. While attackers visit, each of them must be answered rightly, and in time.

import type { Installation } from './installation.ts';

/** Generous: the machine may have much else to do. */
const PATIENCE_MS = 25_000;
const REST_MS = 150;
const ROUNDS_LEAST = 2;

type Ask = (installation: Installation, key: string, text: string) => Promise<string | null>;

/** Each says what is wrong with its answer; null for nothing. */
const asks: Record<string, Ask> = {
  message: async ({ turnpike }, key, text) => {
    const answer = await readJson(await turnpike.post(key, messageOf(text), timed()));
    return answer.status === 200 && answer.text.includes(text) ? null : answer.said;
  },
  stream: async ({ turnpike }, key, text) => {
    const response = await turnpike.post(key, { ...messageOf(text), stream: true }, timed());
    const events = await response.text();
    const isWhole = events.includes('event: message_stop') && !events.includes('event: error');
    return response.status === 200 && isWhole && events.includes(text) ? null : `${response.status} ${events}`;
  },
  count: async ({ turnpike }, key, text) => {
    const { max_tokens: _, ...counted } = messageOf(text);
    const answer = await post(`${turnpike.url}/v1/messages/count_tokens`, { 'x-api-key': key }, counted);
    return answer.status === 200 && answer.text.includes('"input_tokens"') ? null : answer.said;
  },
  chat: async ({ turnpike }, key, text) => {
    const headers = { authorization: `Bearer ${key}` };
    const answer = await post(`${turnpike.url}/v1/chat/completions`, headers, messageOf(text));
    return answer.status === 200 && answer.text.includes(text) ? null : answer.said;
  },
  admin: async ({ turnpike }) => {
    const { items, data } = (await turnpike.admin('GET', '/accounts?limit=2')) as Record<string, unknown[]>;
    return (items ?? data)?.length === 2 ? null : 'accounts are not listed';
  },
  readiness: async ({ turnpike }) => {
    const answer = await readJson(await fetch(`${turnpike.url}/readyz`, timed()));
    return answer.status === 200 ? null : answer.said;
  },
};

/** Asks until `isOver`, at least twice. Resolves with what went wrong first; null when nothing did. */
export async function attend(installation: Installation, isOver: () => boolean): Promise<string | null> {
  let fault: string | null = null;
  let asked = 0;
  const names = Object.keys(asks);
  await Promise.all(
    names.map(async (name, at) => {
      const key = installation.bystanders[at % installation.bystanders.length] as string;
      for (let round = 0; fault === null && (round < ROUNDS_LEAST || !isOver()); round++) {
        const wrong = await ask(name, installation, key, `bystander ${name} ${asked++}`);
        if (wrong !== null) fault ??= `${name} of another account: ${wrong.slice(0, 400)}`;
        await Bun.sleep(REST_MS);
      }
    }),
  );
  return fault;
}

async function ask(name: string, installation: Installation, key: string, text: string): Promise<string | null> {
  const startedMs = performance.now();
  try {
    return await (asks[name] as Ask)(installation, key, text);
  } catch (failure) {
    return `${failure} after ${Math.round(performance.now() - startedMs)} ms`;
  }
}

/** One message with a key, from its beginning to its end. What is wrong with it, or null. */
export function askMessage(installation: Installation, key: string): Promise<string | null> {
  return ask('message', installation, key, 'after the batch');
}

function messageOf(text: string) {
  return { model: 'sandbox-echo', max_tokens: 100, messages: [{ role: 'user', content: text }] };
}

function timed(): { signal: AbortSignal } {
  return { signal: AbortSignal.timeout(PATIENCE_MS) };
}

async function post(url: string, headers: Record<string, string>, body: object) {
  const options = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, ...timed() };
  return readJson(await fetch(url, { ...options, body: JSON.stringify(body) }));
}

async function readJson(response: Response): Promise<{ status: number; text: string; said: string }> {
  const text = await response.text();
  return { status: response.status, text, said: `${response.status} ${text}` };
}
