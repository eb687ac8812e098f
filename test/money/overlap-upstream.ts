// A provider that counts its concurrent messages, to observe what limits let through.

import {
  type Script,
  type ScriptedUpstream,
  startScriptedUpstream,
  upstreamEvents,
  upstreamMessage,
} from '../support/scripted-upstream.ts';

export interface OverlapUpstream {
  /** A catalog with the model `counted` of this provider, and groups with these limits. */
  document(groups?: Record<string, object>): object;
  /** Highest concurrency since the last call. */
  takeMost(): number;
  close(): Promise<void>;
}

export async function startOverlapUpstream(): Promise<OverlapUpstream> {
  let atOnce = 0;
  let mostAtOnce = 0;
  /**
   * Shorter than the message's time in the service on both sides: messages that overlap here were admitted at the
   * same time.
   */
  const countOverlap: Script = async (answer, request) => {
    atOnce++;
    mostAtOnce = Math.max(mostAtOnce, atOnce);
    const isStream = JSON.parse(request.body).stream === true;
    if (isStream) {
      answer.begin(200, { 'content-type': 'text/event-stream' });
      for (const event of upstreamEvents().slice(0, -1)) {
        await answer.write(event);
        await Bun.sleep(2);
      }
    } else await Bun.sleep(10);
    atOnce--;
    if (!isStream) return answer.send(200, { 'content-type': 'application/json' }, JSON.stringify(upstreamMessage()));
    await answer.write(upstreamEvents().at(-1) as string);
    answer.end();
  };
  const upstream: ScriptedUpstream = await startScriptedUpstream(countOverlap);
  return {
    document: (groups = {}) => ({
      providers: { counting: { kind: 'anthropic', base_url: upstream.url, private_network: true } },
      models: { counted: { price: { input: '1', output: '5' }, routes: [{ provider: 'counting', model: 'counted' }] } },
      groups: { default: { models: ['*'] }, ...groups },
    }),
    takeMost() {
      const most = mostAtOnce;
      mostAtOnce = 0;
      return most;
    },
    close: () => upstream.close(),
  };
}
