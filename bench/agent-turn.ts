// The cost of a coding agent's turn: a long conversation with tools goes up, and hundreds of small events come down.

import { agentBody } from './agent-body.ts';
import { type Figure, inTurns, ratios } from './figures.ts';
import type { MeasuredProcess } from './measured-process.ts';
import { post, startBareProxy, startService, startUpstream } from './processes.ts';

const BODIES = [
  { bytes: 100_000, aims: { native: 1.8, parsing: 0.95 } },
  { bytes: 1_000_000, aims: { native: 2.2, parsing: 1.1 } },
];
const TURNS = Number(process.env['BENCH_TURNS'] ?? 160);
const AT_ONCE = 16;

export async function measureAgentTurns(rounds: number): Promise<Figure[]> {
  await using upstream = await startUpstream();
  await using native = await startBareProxy(upstream);
  await using parsing = await startBareProxy(upstream, 'parsing');
  await using service = await startService(upstream);
  const key = await service.makeKey();
  const figures: Figure[] = [];
  for (const { bytes, aims } of BODIES) {
    const body = agentBody(bytes);
    const turns = Math.ceil(TURNS / Math.sqrt(bytes / 100_000));
    const [ofNative = [], ofParsing = [], ofService = []] = await inTurns(rounds, [
      () => turnCost(native, 'none', body, turns),
      () => turnCost(parsing, 'none', body, turns),
      () => turnCost(service, key, body, turns),
    ]);
    const size = bytes < 1_000_000 ? `${bytes / 1_000} KB` : `${bytes / 1_000_000} MB`;
    figures.push(
      { what: `CPU of an agent’s turn, body of ${size}`, unit: 'ms', values: ofService, aim: null },
      { what: '— against the runtime’s own relay', unit: 'x', values: ratios(ofService, ofNative), aim: aims.native },
      { what: '— against a relay that parses', unit: 'x', values: ratios(ofService, ofParsing), aim: aims.parsing },
    );
  }
  return figures;
}

/** Milliseconds of CPU time of one turn. */
async function turnCost(target: MeasuredProcess, secret: string, body: string, turns: number): Promise<number> {
  let left = turns;
  const beforeMs = target.cpuMs();
  const sendAll = async () => {
    while (left-- > 0) {
      const text = await (await post(target, secret, body)).text();
      if (!text.includes('message_stop')) throw new Error(text.slice(-200));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendAll));
  return (target.cpuMs() - beforeMs) / turns;
}
