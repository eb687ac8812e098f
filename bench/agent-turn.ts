// The cost of a coding agent's turn: a long conversation with tools goes up, and hundreds of small events come down.
// Over Messages, and over the fronts of OpenAI's protocols.

import { agentBody, chatBody, responsesBody } from './agent-body.ts';
import { type Figure, inTurns, ratios } from './figures.ts';
import { gates } from './gates.ts';
import type { MeasuredProcess } from './measured-process.ts';
import { post, startBareProxy, startService, startUpstream } from './processes.ts';

const BODIES = [
  { bytes: 100_000, gate: gates.turnOf100KB, frontGate: gates.frontOf100KB },
  { bytes: 1_000_000, gate: gates.turnOf1MB, frontGate: gates.frontOf1MB },
];
const TURNS = Number(process.env['BENCH_TURNS'] ?? 160);
const AT_ONCE = 16;
const MESSAGES = { path: '/v1/messages', end: 'message_stop' };
const CHAT = { path: '/v1/chat/completions', end: '[DONE]' };
const RESPONSES = { path: '/v1/responses', end: 'response.completed' };

export async function measureAgentTurns(rounds: number): Promise<Figure[]> {
  await using upstream = await startUpstream();
  await using native = await startBareProxy(upstream);
  await using parsing = await startBareProxy(upstream, 'parsing');
  await using service = await startService(upstream);
  const key = await service.makeKey();
  const figures: Figure[] = [];
  for (const { bytes, gate, frontGate } of BODIES) {
    const body = agentBody(bytes);
    const turns = Math.ceil(TURNS / Math.sqrt(bytes / 100_000));
    const chat = chatBody(body);
    const responses = responsesBody(body);
    const [ofNative = [], ofParsing = [], ofService = [], ofChat = [], ofResponses = []] = await inTurns(rounds, [
      () => turnCost(native, 'none', MESSAGES, body, turns),
      () => turnCost(parsing, 'none', MESSAGES, body, turns),
      () => turnCost(service, key, MESSAGES, body, turns),
      () => turnCost(service, key, CHAT, chat, turns),
      () => turnCost(service, key, RESPONSES, responses, turns),
    ]);
    const size = bytes < 1_000_000 ? `${bytes / 1_000} KB` : `${bytes / 1_000_000} MB`;
    figures.push(
      { what: `CPU of an agent’s turn, body of ${size}`, unit: 'ms', values: ofService },
      { what: '— against the runtime’s own relay', unit: 'x', values: ratios(ofService, ofNative), gate },
      { what: '— against a relay that parses', unit: 'x', values: ratios(ofService, ofParsing) },
      {
        what: '— over Chat Completions, against Messages',
        unit: 'x',
        values: ratios(ofChat, ofService),
        gate: frontGate,
      },
      {
        what: '— over Responses, against Messages',
        unit: 'x',
        values: ratios(ofResponses, ofService),
        gate: frontGate,
      },
    );
  }
  return figures;
}

/** Milliseconds of CPU time of one turn. */
async function turnCost(
  target: MeasuredProcess,
  secret: string,
  { path, end }: typeof MESSAGES,
  body: string,
  turns: number,
): Promise<number> {
  let left = turns;
  const beforeMs = target.cpuMs();
  const sendAll = async () => {
    while (left-- > 0) {
      const text = await (await post(target, secret, body, path)).text();
      if (!text.includes(end)) throw new Error(text.slice(-200));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, sendAll));
  return (target.cpuMs() - beforeMs) / turns;
}
