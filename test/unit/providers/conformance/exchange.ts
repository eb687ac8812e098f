// One request to a provider of any kind and its result, with its driver as the provider. It has no tests of its own.

import { type Attempt, type Provider, ProviderFault, providerKinds } from '../../../../src/providers/providers.ts';
import { Secret } from '../../../../src/secrets/secrets.ts';
import type { StreamEvent } from '../../../../src/wire/wire.ts';
import { makeRandom } from '../../../support/random.ts';
import { makeAttempt } from '../make-attempt.ts';
import { bytesOf, type Driver, type Json, streamTypeOf, wireOf } from './driver.ts';
import { type ModelReply, STOP_SEQUENCE, TOOL_NAMES } from './model-reply.ts';
import { answerHost, bodyOf, cutBytes, type SentRequest } from './network.ts';
import { type ReadMessage, readEvents, readWhole } from './read-events.ts';

export const THINKING = { type: 'enabled', budget_tokens: 2_000 };
/** Every tool that a generated response may call. */
export const TOOLS = TOOL_NAMES.map((name) => ({
  name,
  description: `What ${name} does`,
  input_schema: { type: 'object', properties: { city: { type: 'string', maxLength: 80 } }, required: ['city'] },
}));

export function providerOf({ kind }: Driver): Provider {
  const provider = providerKinds.get(kind);
  if (provider === undefined) throw new Error(`unknown provider kind: ${kind}`);
  return provider;
}

/** Only kinds at clouds use them. */
export const PLACE = { project: 'our-project', region: 'our-region' };

/** An attempt with this body at the driver's provider. */
export function attemptOf(driver: Driver, body: Json | string, changes: Partial<Attempt> = {}): Attempt {
  const members = { max_tokens: 4_000, messages: [{ role: 'user', content: 'Hi' }] };
  const whole = typeof body === 'string' ? body : { model: 'a-model', ...members, ...body };
  const { kind, baseUrl, credential } = driver;
  return makeAttempt(baseUrl, whole, {
    provider: { name: 'theirs', kind, baseUrl, credential: new Secret(credential), ...PLACE },
    upstreamModel: driver.model,
    ...changes,
  });
}

/** The request to a provider, and its result. */
export interface Outcome {
  /** null if nothing was sent. */
  sent: SentRequest | null;
  events: StreamEvent[];
  /** The text of a message without streaming. */
  text: string | null;
  fault: ProviderFault | null;
}

/** Sends the request and reads the whole response. Throws what `answer` throws. */
export async function ask(
  driver: Driver,
  attempt: Attempt,
  answer: (request: SentRequest) => Response,
): Promise<Outcome> {
  const outcome: Outcome = { sent: null, events: [], text: null, fault: null };
  let thrownHere: unknown;
  using _host = answerHost(driver.baseUrl, (request) => {
    outcome.sent = request;
    try {
      return answer(request);
    } catch (thrown) {
      thrownHere = thrown;
      throw thrown;
    }
  });
  try {
    const reply = await providerOf(driver).submit(attempt);
    if (reply.form === 'message') outcome.text = reply.text;
    else
      for (let batch = await reply.events.next(); batch !== null; batch = await reply.events.next())
        outcome.events.push(...batch);
  } catch (thrown) {
    if (!(thrown instanceof ProviderFault)) throw thrown;
    outcome.fault = thrown;
  }
  if (thrownHere !== undefined) throw thrownHere;
  return outcome;
}

const WHOLE = { 'content-type': 'application/json', 'x-request-id': 'theirs-1' };

export function streamed(driver: Driver, pieces: readonly Uint8Array[]): Response {
  const headers = { 'content-type': streamTypeOf(driver), 'x-request-id': 'theirs-1' };
  return new Response(bodyOf(pieces), { headers });
}

export function json(text: string, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(text, { status, headers: { ...WHOLE, ...headers } });
}

/** The reply with the tool names that the provider got, in the order of its request. */
export function withToolNamesOf(driver: Driver, reply: ModelReply, { body }: SentRequest): ModelReply {
  const { tools } = driver.read(body);
  const segments = reply.segments.map((segment) => {
    if (segment.is !== 'call' || tools.length === 0) return segment;
    return { ...segment, name: tools[TOOL_NAMES.indexOf(segment.name)]?.name ?? 'an-unknown-tool' };
  });
  return { ...reply, segments };
}

export interface Answered {
  message: ReadMessage;
  sent: SentRequest;
  /** The JSON of each block as a client sends it back, its inputs unchanged. */
  blocks: string[];
}

/**
 * The complete response of a request as a client sees it; `seed` determines how it is split and interleaved. Throws
 * its fault.
 */
export async function answerOf(
  driver: Driver,
  body: Json | string,
  reply: ModelReply,
  { isStreamed, seed = 1 }: { isStreamed: boolean; seed?: number },
): Promise<Answered> {
  const random = makeRandom(seed);
  const changes = { requestId: `req_${seed}` };
  const asked =
    typeof body === 'string'
      ? body
      : { thinking: THINKING, tools: TOOLS, stop_sequences: [STOP_SEQUENCE], ...body, stream: isStreamed };
  if (typeof asked !== 'string' && !takesStops(driver)) delete (asked as Json)['stop_sequences'];
  const outcome = await ask(driver, attemptOf(driver, asked, changes), (request) => {
    const sentReply = withToolNamesOf(driver, reply, request);
    if (!isStreamed) return json(driver.whole(sentReply));
    const events = driver.stream(sentReply, random);
    const bytes = driver.framing === undefined ? Buffer.from(noisy(events, random)) : bytesOf(driver, events);
    return streamed(driver, cutBytes(bytes, random));
  });
  if (outcome.fault !== null) throw outcome.fault;
  const message = isStreamed ? readEvents(outcome.events) : readWhole(outcome.text ?? '');
  return { message, sent: outcome.sent as SentRequest, blocks: blocksOf(message) };
}

/** The events with comments between them, and with any of the allowed line ends. */
function noisy(events: readonly string[], random: () => number): string {
  const text = events.map((event) => (random() < 0.2 ? `: still here\n\n${event}` : event)).join('');
  const chosen = random();
  return chosen < 0.6 ? text : text.replaceAll(/\r?\n/g, chosen < 0.8 ? '\r\n' : '\r');
}

/** Whether the kind supports stop sequences. */
export function takesStops(driver: Driver): boolean {
  return wireOf(driver) !== 'openai-responses';
}

function blocksOf({ blocks }: ReadMessage): string[] {
  return blocks.map((block) => {
    if (block.type !== 'tool_use') return JSON.stringify(block);
    const { input, ...rest } = block;
    return `${JSON.stringify(rest).slice(0, -1)},"input":${input}}`;
  });
}
