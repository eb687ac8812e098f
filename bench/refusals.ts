// Measures the cost of recording refused requests for a message: messages during a flood of refusals, whose record is
// switched on and off from one interval to the next in the same process.

import { RefusalCounts } from '../src/traffic/traffic.ts';
import { startOwnTurnpike } from '../test/support/start-turnpike.ts';
import { type Figure, median, ratios } from './figures.ts';

const REFUSALS_PER_MINUTE = 50_000;
const INTERVAL_MS = 2_000;
const BURST_MS = 12;

/** Each round has an interval with the record and one without, in turns first. */
export async function measureRefusals(rounds: number): Promise<Figure[]> {
  await using turnpike = await startOwnTurnpike('it measures a service that does nothing else');
  const { secret } = await turnpike.makeKey({ credit: '1000.00' });
  const { secret: refused } = await turnpike.makeKey();
  const { count } = RefusalCounts.prototype;
  const recording = async (isOn: boolean) => {
    RefusalCounts.prototype.count = isOn ? count : () => {};
    return await measureMessages(turnpike.url, secret);
  };
  const flood = startFlood(turnpike.url, refused);
  const [on, off] = [[], []] as [number[], number[]];
  for (let round = -1; round < rounds; round++) {
    const first = await recording(round % 2 === 0);
    const second = await recording(round % 2 !== 0);
    if (round < 0) continue; // the first round warms up
    on.push(round % 2 === 0 ? first : second);
    off.push(round % 2 === 0 ? second : first);
  }
  RefusalCounts.prototype.count = count;
  const perMinute = await flood.stop();
  return [
    {
      what: `Message during ${perMinute.toLocaleString('en-US')} refusals a minute`,
      unit: 'ms',
      values: on,
    },
    { what: '— against the same without their record', unit: 'x', values: ratios(on, off) },
  ];
}

const message = (model: string) =>
  JSON.stringify({ model, max_tokens: 20, messages: [{ role: 'user', content: 'Hello' }] });

function post(url: string, secret: string, body: string): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'x-api-key': secret };
  return fetch(`${url}/v1/messages`, { method: 'POST', headers, body });
}

/** The median time of a message in one interval. */
async function measureMessages(url: string, secret: string): Promise<number> {
  const times: number[] = [];
  const body = message('sandbox-echo');
  for (const untilMs = performance.now() + INTERVAL_MS; performance.now() < untilMs; ) {
    const startedMs = performance.now();
    await (await post(url, secret, body)).text();
    times.push(performance.now() - startedMs);
  }
  return median(times);
}

/** Half of the refusals are of a known key, half have an unknown one. */
function startFlood(url: string, secret: string): { stop(): Promise<number> } {
  const startedMs = performance.now();
  const body = message('no-such-model');
  const pending = new Set<Promise<unknown>>();
  let sent = 0;
  const timer = setInterval(() => {
    const due = ((performance.now() - startedMs) / 60_000) * REFUSALS_PER_MINUTE;
    for (; sent < due; sent++) {
      const answer = post(url, sent % 2 === 0 ? secret : 'unknown', body).then((response) => response.text());
      pending.add(answer);
      void answer.finally(() => pending.delete(answer));
    }
  }, BURST_MS);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.allSettled(pending);
      return Math.round((sent / (performance.now() - startedMs)) * 60) * 1_000;
    },
  };
}
