// Mixed load for a service that may be killed at any moment. It records what the service acknowledged.

import type { Turnpike } from '../support/start-turnpike.ts';

/** Acknowledged changes, which must be stored after any crash. */
export interface Acknowledged {
  /** Cost in nanodollars of the usage that the client saw, by request id. */
  messages: Map<string, number>;
  /** Credits by reference. One without a response may or may not have been given. */
  credits: Map<string, { account: string; amount: string; isAnswered: boolean }>;
  /** Last quota by key id. A change without a response may or may not have been made. */
  quotas: Map<string, { acknowledged: number; asked: number }>;
  keysMade: Set<string>;
}

export interface Callers {
  accounts: string[];
  secrets: string[];
  keys: string[];
}

export function nothingAcknowledged(): Acknowledged {
  return { messages: new Map(), credits: new Map(), quotas: new Map(), keysMade: new Set() };
}

/** Prices of the sandbox: 1 and 5 USD per million tokens. */
export function costOf(inputTokens: number, outputTokens: number): number {
  return inputTokens * 1_000 + outputTokens * 5_000;
}

interface Load {
  turnpike: Turnpike;
  callers: Callers;
  acknowledged: Acknowledged;
  random: () => number;
  isOver: () => boolean;
}

/** Sends load until `isOver`, or in each worker until the service stops answering. */
export async function runLoad(load: Load): Promise<void> {
  const workers = load.callers.secrets.flatMap((secret) => [
    repeat(load, () => sendWhole(load, secret)),
    repeat(load, () => sendStream(load, secret)),
    repeat(load, () => sendStream(load, secret)),
    repeat(load, () => leaveStream(load, secret)),
  ]);
  workers.push(
    repeat(load, () => giveCredit(load)),
    repeat(load, () => changeKey(load)),
    repeat(load, () => makeKey(load)),
  );
  await Promise.all(workers);
}

/** A killed service answers nothing: its worker ends. */
async function repeat(load: Load, once: () => Promise<void>): Promise<void> {
  while (!load.isOver()) {
    try {
      await once();
    } catch {
      return;
    }
  }
}

function message(load: Load, model: string, stream: boolean, tokensMost: number) {
  const maxTokens = 1 + Math.floor(load.random() * tokensMost);
  const content = 'go '.repeat(1 + Math.floor(load.random() * 40));
  return { model, max_tokens: maxTokens, stream, messages: [{ role: 'user', content }] };
}

async function sendWhole(load: Load, secret: string): Promise<void> {
  const model = load.random() < 0.5 ? 'sandbox-echo' : 'sandbox-lorem';
  const response = await load.turnpike.post(secret, message(load, model, false, 200));
  const answer = (await response.json()) as { usage?: { input_tokens: number; output_tokens: number } };
  if (response.status !== 200 || answer.usage === undefined) return;
  note(load, response, answer.usage.input_tokens, answer.usage.output_tokens);
}

async function sendStream(load: Load, secret: string): Promise<void> {
  // Echo answers at once, so that many endings are in progress at the kill. Filler takes time.
  const model = load.random() < 0.9 ? 'sandbox-echo' : 'sandbox-lorem';
  const response = await load.turnpike.post(secret, message(load, model, true, 60));
  const text = await readUntilCut(response);
  if (response.status !== 200 || !text.includes('event: message_stop\n')) return;
  const read = (pattern: RegExp) => Number([...text.matchAll(pattern)].at(-1)?.[1]);
  note(load, response, read(/"input_tokens":(\d+)/g), read(/"output_tokens":(\d+)/g));
}

/**
 * Reads everything that arrived, also if the connection broke: a client that has the last event need not wait for the
 * socket's end.
 */
async function readUntilCut(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const bytes of response.body as ReadableStream<Uint8Array>)
      text += decoder.decode(bytes, { stream: true });
  } catch {
    // The kill. What was read counts.
  }
  return text;
}

function note(load: Load, response: Response, inputTokens: number, outputTokens: number): void {
  load.acknowledged.messages.set(response.headers.get('request-id') ?? '', costOf(inputTokens, outputTokens));
}

/** No client sees its end: only the books are checked, not its bill. */
async function leaveStream(load: Load, secret: string): Promise<void> {
  const leaving = new AbortController();
  setTimeout(() => leaving.abort(), load.random() * 60);
  const response = await load.turnpike
    .post(secret, message(load, 'sandbox-lorem', true, 4_000), { signal: leaving.signal })
    .catch((thrown) => (thrown.name === 'AbortError' ? null : Promise.reject(thrown)));
  await response?.text().catch(() => {});
}

async function giveCredit(load: Load): Promise<void> {
  const account = load.callers.accounts[Math.floor(load.random() * load.callers.accounts.length)] as string;
  const amount = `0.${String(1 + Math.floor(load.random() * 999_999)).padStart(9, '0')}`;
  const reference = crypto.randomUUID();
  load.acknowledged.credits.set(reference, { account, amount, isAnswered: false });
  await load.turnpike.admin('POST', `/accounts/${account}/credits`, { amount, reference });
  load.acknowledged.credits.set(reference, { account, amount, isAnswered: true });
  await Bun.sleep(5);
}

async function changeKey(load: Load): Promise<void> {
  const key = load.callers.keys[Math.floor(load.random() * load.callers.keys.length)] as string;
  const before = load.acknowledged.quotas.get(key) ?? { acknowledged: 0, asked: 0 };
  const asked = before.asked + 1;
  load.acknowledged.quotas.set(key, { ...before, asked });
  await load.turnpike.admin('PATCH', `/keys/${key}`, { quota: `${1_000 + asked}.00` });
  load.acknowledged.quotas.set(key, { acknowledged: asked, asked });
  await Bun.sleep(5);
}

async function makeKey(load: Load): Promise<void> {
  const made = await load.turnpike.admin('POST', '/keys', { account: load.callers.accounts[0] });
  load.acknowledged.keysMade.add(made['id'] as string);
  await Bun.sleep(20);
}
