// The resources that a service holds, read from /metrics. It has no tests of its own.

import type { Turnpike } from '../../support/start-turnpike.ts';

const HELD = [
  'turnpike_bodies_in_flight_bytes',
  'turnpike_bodies_in_flight',
  'turnpike_slots_in_flight',
  'turnpike_answers_in_memory_bytes',
  'turnpike_prompt_counts_in_flight',
  'turnpike_open_messages{stream="true"}',
  'turnpike_open_messages{stream="false"}',
  'turnpike_open_holds',
  'turnpike_held_usd',
];
const PATIENCE_MS = 10_000;

/**
 * Resolves to the gauges that are not zero, as soon as there are none, or after ten seconds. A missing gauge is
 * included.
 */
export async function heldBy(turnpike: Turnpike): Promise<string[]> {
  const untilMs = performance.now() + PATIENCE_MS;
  for (;;) {
    const lines = (await (await turnpike.scrape()).text()).split('\n');
    const held = HELD.filter((name) => !lines.includes(`${name} 0`)).map(
      (name) => lines.find((line) => line.startsWith(`${name} `)) ?? `${name} is missing`,
    );
    if (held.length === 0 || performance.now() > untilMs) return held;
    await Bun.sleep(20);
  }
}
