// One request to a provider of any kind and what becomes of it, with the provider's side played by its driver. Not a test.

import { type Attempt, type Provider, ProviderFault, providerKinds } from '../../../src/providers/providers.ts';
import { Secret } from '../../../src/secrets/secrets.ts';
import type { StreamEvent } from '../../../src/wire/wire.ts';
import { makeRandom } from '../../support/random.ts';
import { makeAttempt } from '../make-attempt.ts';
import type { Driver, Json } from './driver.ts';
import { answerHost, bodyOf, cutBytes, type SentRequest } from './network.ts';
import { type ReadMessage, readEvents, readWhole } from './read-events.ts';
import { type Saying, STOP_SEQUENCE, TOOL_NAMES } from './saying.ts';

export const THINKING = { type: 'enabled', budget_tokens: 2_000 };
/** Every tool that a generated answer may call. */
export const TOOLS = TOOL_NAMES.map((name) => ({
  name,
  description: `What ${name} does`,
  input_schema: { type: 'object', properties: { city: { type: 'string', maxLength: 80 } }, required: ['city'] },
}));

export function providerOf({ kind }: Driver): Provider {
  const provider = providerKinds.get(kind);
  if (provider === undefined) throw new Error(`no provider of the kind ${kind}`);
  return provider;
}

/** An attempt of this body at the driver's provider. */
export function attemptOf(driver: Driver, body: Json | string, changes: Partial<Attempt> = {}): Attempt {
  const members = { max_tokens: 4_000, messages: [{ role: 'user', content: 'Hi' }] };
  const whole = typeof body === 'string' ? body : { model: 'a-model', ...members, ...body };
  const { kind, baseUrl, credential } = driver;
  return makeAttempt(baseUrl, whole, {
    provider: { name: 'theirs', kind, baseUrl, credential: new Secret(credential) },
    upstreamModel: driver.model,
    ...changes,
  });
}

/** What a provider is asked, and what becomes of its answer. */
export interface Outcome {
  /** Null: nothing was sent. */
  sent: SentRequest | null;
  events: StreamEvent[];
  /** The text of a message that was not streamed. */
  text: string | null;
  fault: ProviderFault | null;
}

/** Asks, and takes all that comes. What `answer` throws is thrown here. */
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

const STREAMED = { 'content-type': 'text/event-stream', 'x-request-id': 'theirs-1' };
const WHOLE = { 'content-type': 'application/json', 'x-request-id': 'theirs-1' };

export function streamed(pieces: readonly Uint8Array[]): Response {
  return new Response(bodyOf(pieces), { headers: STREAMED });
}

export function json(text: string, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(text, { status, headers: { ...WHOLE, ...headers } });
}

/** The saying with the names of tools as the provider was given them: in the order of its request. */
export function asAsked(driver: Driver, saying: Saying, { body }: SentRequest): Saying {
  const { tools } = driver.read(body);
  const said = saying.said.map((thing) => {
    if (thing.is !== 'call' || tools.length === 0) return thing;
    return { ...thing, name: tools[TOOL_NAMES.indexOf(thing.name)]?.name ?? 'a-tool-that-nobody-gave' };
  });
  return { ...saying, said };
}

export interface Answered {
  message: ReadMessage;
  sent: SentRequest;
  /** The JSON of each block as a client sends it back, its inputs as they are. */
  blocks: string[];
}

/** The answer to a request, as a client has it at the end; `seed` says how it is cut and mixed. Throws the fault of it. */
export async function answerOf(
  driver: Driver,
  body: Json | string,
  saying: Saying,
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
    const told = asAsked(driver, saying, request);
    if (!isStreamed) return json(driver.whole(told));
    return streamed(cutBytes(noisy(driver.stream(told, random), random), random));
  });
  if (outcome.fault !== null) throw outcome.fault;
  const message = isStreamed ? readEvents(outcome.events) : readWhole(outcome.text ?? '');
  return { message, sent: outcome.sent as SentRequest, blocks: blocksOf(message) };
}

/** The events among comments, and with any of the line ends that a stream may have. */
function noisy(events: readonly string[], random: () => number): string {
  const text = events.map((event) => (random() < 0.2 ? `: still here\n\n${event}` : event)).join('');
  const chosen = random();
  return chosen < 0.6 ? text : text.replaceAll(/\r?\n/g, chosen < 0.8 ? '\r\n' : '\r');
}

/** Whether the kind takes stop sequences at all. */
export function takesStops({ kind }: Driver): boolean {
  return kind !== 'openai-responses';
}

function blocksOf({ blocks }: ReadMessage): string[] {
  return blocks.map((block) => {
    if (block.type !== 'tool_use') return JSON.stringify(block);
    const { input, ...rest } = block;
    return `${JSON.stringify(rest).slice(0, -1)},"input":${input}}`;
  });
}
