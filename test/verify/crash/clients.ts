// Clients of a service that may be killed at any moment. Each records what it saw of its messages; one grants credit
// meanwhile.

import type { Turnpike } from '../../support/start-turnpike.ts';
import {
  BYTES_PER_TOKEN_LEAST,
  BYTES_PER_TOKEN_MOST,
  EVEN_BYTES_PER_TOKEN,
  type Order,
  promptOf,
} from './counting-upstream.ts';

/** Observations of one message. */
export interface Sighting {
  /** `inputTokens` of its order; null for a sandbox model. */
  mark: number | null;
  model: string;
  stream: boolean;
  /** The client disconnected by itself. */
  hasLeft: boolean;
  /** Null if no response began. */
  requestId: string | null;
  status: number | null;
  events: number;
  textBytes: number;
  usage: { input: number; output: number } | null;
  /** The client saw `message_stop` or the whole JSON: the service has acknowledged the message. */
  isAcknowledged: boolean;
  /** Error code of a response or event. */
  error: string | null;
}

export interface GivenCredit {
  account: string;
  amount: string;
  isAnswered: boolean;
}

export interface Callers {
  /** Accounts with enough credit; the last one has too little. */
  secrets: string[];
  accounts: string[];
}

/** All observations of one round. */
export interface Seen {
  sightings: Sighting[];
  /** By reference. */
  credits: Map<string, GivenCredit>;
}

export interface Load {
  turnpike: Turnpike;
  callers: Callers;
  random: () => number;
  /** Mark of the next message. */
  nextMark: () => number;
  isOver: () => boolean;
  /** With several nodes, a client without a response continues at the next node. */
  goesOn?: boolean;
  seen: Seen;
}

const MIXED_CLIENTS = 14;
const LONG_CLIENTS = 4;
const POOR_CLIENTS = 2;
const RETRY_MS = 50; // A response that reports an unavailable store.
const REST_MS = 50;
export const CLIENTS = MIXED_CLIENTS + LONG_CLIENTS + POOR_CLIENTS;

/** Sends load until the round is over, or in each client until the service stops answering. */
export async function runClients(load: Load): Promise<void> {
  const rich = load.callers.secrets.slice(0, -1);
  const poor = load.callers.secrets.at(-1) as string;
  const richOne = (at: number) => rich[at % rich.length] as string;
  await Promise.all([
    ...Array.from({ length: MIXED_CLIENTS }, (_, at) => repeat(load, () => sendAny(load, richOne(at)))),
    ...Array.from({ length: LONG_CLIENTS }, (_, at) => repeat(load, () => sendLong(load, richOne(at)))),
    ...Array.from({ length: POOR_CLIENTS }, () => repeat(load, () => sendPoor(load, poor))),
    repeat(load, () => giveCredit(load)),
  ]);
}

async function repeat(load: Load, once: () => Promise<void>): Promise<void> {
  while (!load.isOver()) {
    try {
      await once();
    } catch {
      if (load.goesOn !== true) return; // A killed service answers nothing: its client ends.
      await Bun.sleep(REST_MS);
    }
  }
}

function between(random: () => number, least: number, most: number): number {
  return least + Math.floor(random() * (most - least + 1));
}

function sendAny(load: Load, secret: string): Promise<void> {
  const drawn = load.random();
  const stream = load.random() < 0.7;
  if (drawn < 0.15) return sendSandbox(load, secret, stream);
  if (drawn < 0.2) return sendOrder(load, secret, true, { deltas: 400, pauseMs: 4 }, between(load.random, 5, 150));
  if (drawn < 0.35) return sendOrder(load, secret, true, { deltas: 40, tokensPerDelta: 250 }); // Exceeds several tranches.
  return sendOrder(load, secret, stream, stream ? { deltas: between(load.random, 2, 30) } : { deltas: 0 });
}

/** Much longer than the part that may be lost. */
function sendLong(load: Load, secret: string): Promise<void> {
  const order = {
    deltas: 220,
    tokensPerDelta: between(load.random, 4, 40),
    pauseMs: 30,
    bytesPerToken: EVEN_BYTES_PER_TOKEN,
  };
  return sendOrder(load, secret, true, order);
}

/** Is sometimes refused for lack of credit, and cut midway. */
async function sendPoor(load: Load, secret: string): Promise<void> {
  await sendOrder(load, secret, load.random() < 0.8, { deltas: 20, tokensPerDelta: 60 });
  await Bun.sleep(10);
}

/** Builds a message with this order for the provider. Throws if the response is incomplete. */
export async function sendOrder(
  load: Load,
  secret: string,
  stream: boolean,
  wish: Partial<Order>,
  leaveAfterMs: number | null = null,
): Promise<void> {
  const { random } = load;
  const isEven = wish.bytesPerToken === EVEN_BYTES_PER_TOKEN || random() < 0.5;
  const order: Order = {
    inputTokens: load.nextMark(),
    deltas: 10,
    tokensPerDelta: between(random, 1, 12),
    bytesPerToken: isEven ? EVEN_BYTES_PER_TOKEN : between(random, BYTES_PER_TOKEN_LEAST, BYTES_PER_TOKEN_MOST),
    pauseMs: between(random, 1, 8),
    ...wish,
  };
  const body = { model: isEven ? 'even' : 'varied', stream, content: promptOf(order), maxTokens: 20_000 };
  await send(load, secret, order, body, leaveAfterMs);
}

async function sendSandbox(load: Load, secret: string, stream: boolean): Promise<void> {
  const model = load.random() < 0.6 ? 'sandbox-echo' : 'sandbox-lorem';
  const content = 'go '.repeat(between(load.random, 1, 40));
  await send(load, secret, null, { model, stream, content, maxTokens: between(load.random, 1, 80) }, null);
}

interface Body {
  model: string;
  stream: boolean;
  content: string;
  maxTokens: number;
}

async function send(
  load: Load,
  secret: string,
  order: Order | null,
  { model, stream, content, maxTokens }: Body,
  leaveAfterMs: number | null,
): Promise<void> {
  const sighting: Sighting = {
    mark: order?.inputTokens ?? null,
    model,
    stream,
    hasLeft: false,
    requestId: null,
    status: null,
    events: 0,
    textBytes: 0,
    usage: null,
    isAcknowledged: false,
    error: null,
  };
  load.seen.sightings.push(sighting);
  const leaving = new AbortController();
  const leave = () => {
    sighting.hasLeft = true;
    leaving.abort();
  };
  const timer = leaveAfterMs === null ? undefined : setTimeout(leave, leaveAfterMs);
  const body = { model, max_tokens: maxTokens, stream, messages: [{ role: 'user', content }] };
  try {
    const response = await load.turnpike.post(secret, body, { signal: leaving.signal });
    sighting.requestId = response.headers.get('request-id');
    sighting.status = response.status;
    if (response.status === 200 && stream) await readStream(response, sighting);
    else await readMessage(response, sighting);
    if (response.status === 503) await Bun.sleep(RETRY_MS);
  } catch (thrown) {
    if (!sighting.hasLeft) throw thrown;
  } finally {
    clearTimeout(timer);
  }
}

interface SeenMessage {
  content?: { text: string }[];
  usage?: { input_tokens: number; output_tokens: number };
  error?: { code: string };
}

async function readMessage(response: Response, sighting: Sighting): Promise<void> {
  const message = (await response.json()) as SeenMessage;
  sighting.error = message.error?.code ?? null;
  if (message.usage === undefined || response.status !== 200) return;
  sighting.textBytes = message.content?.[0]?.text.length ?? 0;
  sighting.usage = { input: message.usage.input_tokens, output: message.usage.output_tokens };
  sighting.isAcknowledged = true;
}

/** Reads event by event, so that everything before a broken connection is recorded. */
async function readStream(response: Response, sighting: Sighting): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body as ReadableStream<Uint8Array>) {
    text += decoder.decode(bytes, { stream: true });
    const end = text.lastIndexOf('\n\n');
    if (end < 0) continue;
    for (const event of text.slice(0, end).split('\n\n')) seeEvent(event, sighting);
    text = text.slice(end + 2);
  }
}

interface SeenEvent {
  type: string;
  message?: SeenMessage;
  delta?: { text?: string };
  usage?: { output_tokens: number };
  error?: { code: string };
}

function seeEvent(text: string, sighting: Sighting): void {
  const line = text.slice(text.indexOf('data: ') + 'data: '.length);
  const { type, message, delta, usage, error } = JSON.parse(line) as SeenEvent;
  if (type === 'ping') return;
  sighting.events++;
  sighting.textBytes += delta?.text?.length ?? 0;
  const { input_tokens: input, output_tokens: output } = message?.usage ?? {};
  if (input !== undefined && output !== undefined) sighting.usage = { input, output };
  if (usage !== undefined && sighting.usage !== null) sighting.usage.output = usage.output_tokens;
  if (error !== undefined) sighting.error = error.code;
  if (type === 'message_stop') sighting.isAcknowledged = true;
}

/** The account with little credit gets small amounts. */
async function giveCredit({ turnpike, callers, random, seen }: Load): Promise<void> {
  const isPoor = random() < 0.5;
  const account = callers.accounts.at(isPoor ? -1 : 0) as string;
  const amount = `0.00${String(1 + Math.floor(random() * (isPoor ? 3_999_999 : 999_999))).padStart(7, '0')}`;
  const reference = crypto.randomUUID();
  seen.credits.set(reference, { account, amount, isAnswered: false });
  await turnpike.admin('POST', `/accounts/${account}/credits`, { amount, reference });
  seen.credits.set(reference, { account, amount, isAnswered: true });
  await Bun.sleep(10);
}
