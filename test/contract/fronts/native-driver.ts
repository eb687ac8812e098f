// The interface of a front whose protocol a kind of provider speaks, too, and a service with a provider of each such kind. It has no
// tests of its own.

import { afterAll } from 'bun:test';
import { type Script, type ScriptedUpstream, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { sharedWorld, type World } from '../post-messages/world.ts';
import type { FrontDriver, Json, Prompt } from './front-driver.ts';
import { post } from './front-world.ts';

export interface NativeDriver {
  front: FrontDriver;
  kind: string;
  /** The model of its routes. */
  model: string;
  /** Paths at the provider. */
  path: string;
  streamPath: string;
  /** The header that has the provider's credential. */
  credential: Readonly<Record<string, string>>;
  /** Bodies as received and as sent on, to the byte. The limit of the model `own` is 50 tokens. */
  bodies: readonly [name: string, received: string, sent: string][];
  /** The provider's own answer, with members that no message has. It reports 25 input and 12 output tokens. */
  answer: Json;
  /** The same as a stream with these texts: its events, and those that end it. */
  events(texts: readonly string[]): { begun: string[]; end: string[] };
  /** An answer with the status of a rate limit, and the same within a stream. */
  limited: { body: string; event: string };
  /** Requests that have no price or read stored objects, with the path that names each. */
  refused: readonly [path: string, members: Json][];
  /** A request with members that are not known to be free, and as it is sent on. */
  leftOut: { received: Json; sent: Json };
  /** A member of the body that the message does not have. */
  unread: Json;
}

export const CREDENTIAL = 'of-the-native-provider';

export interface NativeWorld extends World {
  native: ScriptedUpstream;
}

/**
 * For each kind: the models `KIND-own`, `KIND-long` without a limit, `KIND-either`, whose second route is of another kind, and
 * `KIND-other`, whose first route is.
 */
export async function startNative(drivers: readonly NativeDriver[]): Promise<NativeWorld> {
  const native = await startScriptedUpstream(scripts.html());
  const price = { input: '3', output: '15' };
  const at = { base_url: native.url, api_key: CREDENTIAL, private_network: true };
  const other = { provider: 'first', model: 'upstream-model' };
  const models = drivers.flatMap(({ kind, model }) => {
    const own = { provider: kind, model };
    return [
      [`${kind}-own`, { price, routes: [own], max_output_tokens: 50 }],
      [`${kind}-long`, { price, routes: [own] }],
      [`${kind}-either`, { price, routes: [own, { ...other, priority: 1 }] }],
      [`${kind}-other`, { price, routes: [other, { ...own, priority: 1 }] }],
    ] as const;
  });
  const providers = Object.fromEntries(drivers.map(({ kind }) => [kind, { kind, ...at }]));
  const world = await sharedWorld({ providers, models: Object.fromEntries(models) });
  afterAll(async () => {
    await world.stop();
    await native.close();
  });
  return { ...world, native };
}

/** Posts a prompt for the model `KIND-name`. */
export function postNative(
  { front, kind }: NativeDriver,
  world: NativeWorld,
  secret: string,
  { model = 'own', ...prompt }: Prompt = {},
  more: RequestInit = {},
): Promise<Response> {
  return post(front, world, secret, { ...prompt, model: `${kind}-${model}` }, more);
}

/** Sends a stream in chunks of this many bytes. */
export function streamText(text: string, bytesPerChunk = 100_000): Script {
  return async (answer) => {
    answer.begin(200, { 'content-type': 'text/event-stream' });
    const bytes = Buffer.from(text);
    for (let start = 0; start < bytes.length; start += bytesPerChunk)
      await answer.write(bytes.subarray(start, start + bytesPerChunk));
    answer.end();
  };
}
