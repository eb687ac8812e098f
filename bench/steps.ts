// The longest step of the event loop for one request of each front, and for one answer of each kind of provider, whatever
// they contain: processor time of the main thread between two turns, so that other load does not count.

import { openSync, readSync } from 'node:fs';
import { bounds } from '../src/config/config.ts';
import { costlyAnswers } from '../test/support/costly-answers.ts';
import { costlyRequests } from '../test/support/costly-requests.ts';
import { readAnswer, readRequest } from '../test/support/read-costly.ts';
import { bedrockClaudeDriver } from '../test/unit/providers/conformance/bedrock-wire.ts';
import { kinds } from '../test/unit/providers/conformance/drivers.ts';
import type { Figure } from './figures.ts';
import { gates } from './gates.ts';

const REQUEST_BYTES = 30_000_000;
const WHOLE_BYTES = 31_000_000;
const EVENT_BYTES = 12_000_000; // more in base64 than a frame may have
const CHUNK_BYTES = 1_000_000;

export async function measureSteps(): Promise<Figure[]> {
  const longest = new Map<string, { ms: number; of: string }>();
  const note = (name: string, of: string, ms: number) => {
    if (ms > (longest.get(name)?.ms ?? -1)) longest.set(name, { ms, of });
  };
  const watch = new StepWatch();
  for (const { name, path, body } of costlyRequests()) {
    const bytes = Buffer.from(body(REQUEST_BYTES));
    if (bytes.length > bounds.bodyBytesMax) continue;
    note(path, name.slice(path.length + 2), await watch.longestOf(() => readRequest(path, bytes).catch(() => {})));
  }
  for (const driver of [...kinds, bedrockClaudeDriver])
    for (const { name, whole, stream } of costlyAnswers(driver))
      for (const isStreamed of [false, true]) {
        const bytes = isStreamed ? stream(EVENT_BYTES) : whole(WHOLE_BYTES);
        if (bytes === null) continue;
        const ms = await watch.longestOf(() => readAnswer(driver, bytes, isStreamed, CHUNK_BYTES));
        note(driver.name, `${name}, ${isStreamed ? 'streamed' : 'whole'}`, ms);
      }
  watch.stop();
  return [...longest].map(([name, { ms, of }]) => ({
    what: `Longest step, ${name} (${of})`,
    unit: 'ms',
    values: [ms],
    gate: gates.stepMs,
  }));
}

/** Sees each turn of the event loop. */
class StepWatch {
  readonly #file = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r');
  readonly #buffer = Buffer.alloc(64);
  #beganMs = 0;
  #longestMs = 0;
  #isStopped = false;

  constructor() {
    this.#turn();
  }

  async longestOf(work: () => Promise<unknown>): Promise<number> {
    this.#beganMs = this.#cpuMs();
    this.#longestMs = 0;
    await work();
    this.#see();
    return this.#longestMs;
  }

  stop(): void {
    this.#isStopped = true;
  }

  readonly #turn = () => {
    this.#see();
    if (!this.#isStopped) setImmediate(this.#turn);
  };

  #see(): void {
    const nowMs = this.#cpuMs();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#beganMs);
    this.#beganMs = nowMs;
  }

  /** Processor time of the main thread. */
  #cpuMs(): number {
    const length = readSync(this.#file, this.#buffer, 0, this.#buffer.length, 0);
    return Number(this.#buffer.toString('latin1', 0, length).split(' ')[0]) / 1e6;
  }
}
