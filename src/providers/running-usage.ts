// Counts that a provider reports in the course of an answer. Each report may repeat, omit, lower or contradict earlier ones:
// a count never falls, and 0 or nothing in place of a known count means "not known here".

import type { ReportedCounts } from '../protocols/token-counts.ts';
import { type JsonObject, makeEvent, type ServerSentEvent, type StreamEvent } from '../wire/wire.ts';
import type { MessageComposer } from './compose-message.ts';
import type { StreamCounts } from './pull-stream.ts';

export interface Dialect {
  /** Thinking is never part of the output count; absent: it is, unless the total says otherwise. */
  isThinkingBeside?: true;
}

/** Whether a report says anything: some providers send zeros until they know. */
function saysNothing({ prompt, output, thinking, total }: ReportedCounts): boolean {
  return !prompt && !output && !thinking && !total;
}

/** The reports of a piece that has none. */
export const NO_REPORTS: readonly ReportedCounts[] = [];

/** Counts that never fall, by their names in a message's usage. */
const RISING = {
  prompt: 'input_tokens',
  tools: 'input_tokens',
  output: 'output_tokens',
  thinking: 'output_tokens_details.thinking_tokens',
  soundInput: 'input_tokens_details.audio_tokens',
  soundOutput: 'output_tokens_details.audio_tokens',
  total: 'total_tokens',
} as const;
const RISING_COUNTS = Object.keys(RISING) as (keyof typeof RISING)[];

/** The usage of a message, from all that was reported. Unknown counts are left out. */
export function makeUsage(counts: ReportedCounts, dialect: Dialect = {}): JsonObject {
  const output = outputOf(counts, dialect);
  const { thinking, soundInput, soundOutput } = counts;
  const ofOutput = {
    ...(thinking !== null && { thinking_tokens: thinking }),
    ...(soundOutput !== null && { audio_tokens: soundOutput }),
  };
  return {
    ...promptUsage(counts, output),
    ...(soundInput !== null && { input_tokens_details: { audio_tokens: soundInput } }),
    ...(output !== null && { output_tokens: output }),
    ...(output !== null && Object.keys(ofOutput).length > 0 && { output_tokens_details: ofOutput }),
    ...counts.others,
  };
}

function promptUsage(counts: ReportedCounts, output: number | null): JsonObject {
  const { tools, total } = counts;
  // A prompt cannot be empty: without its own count, it is what the total has besides the output.
  const rest = total !== null && output !== null && output > 0 ? total - output - (tools ?? 0) : 0;
  const prompt = counts.prompt || Math.max(0, rest);
  if (prompt === 0) return {};
  // More cached tokens than tokens cannot be: the dearer reading is that none were read from the cache.
  const isBelieved = (counts.cacheRead ?? 0) <= prompt;
  const read = isBelieved ? (counts.cacheRead ?? 0) : 0;
  const written = Math.min(counts.cacheWrite ?? 0, prompt - read);
  return {
    input_tokens: prompt - read - written + (tools ?? 0),
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
    ...(!isBelieved && { disbelieved_cached_tokens: counts.cacheRead }), // an unknown number, reported to the operator
  };
}

/** The least that the output can be. */
function outputOf(counts: ReportedCounts, dialect: Dialect): number | null {
  const { output, thinking } = counts;
  const ofTotal = outputOfTotal(counts);
  if (output === null && ofTotal === null) return thinking || null;
  if (output === 0 && !counts.prompt && !thinking) return null; // zeros alone mean unknown
  const known = output ?? 0;
  // Reasoning cannot be more than the output that contains it: then it is beside the output, as in some dialects always.
  const isBeside = dialect.isThinkingBeside === true || (ofTotal === null && (thinking ?? 0) > known);
  return Math.max(isBeside ? known + (thinking ?? 0) : known, ofTotal ?? 0);
}

function outputOfTotal({ prompt, tools, total }: ReportedCounts): number | null {
  if (!prompt || total === null) return null;
  const output = total - prompt - (tools ?? 0);
  return output < 0 ? null : output;
}

/** Whether the output is counted completely, and not only its thinking. */
function isOutputKnown(counts: ReportedCounts): boolean {
  const ofTotal = outputOfTotal(counts);
  return counts.output !== null || (ofTotal !== null && ofTotal >= (counts.thinking ?? 0));
}

/** The same usage without what only the end of the answer can tell. */
function startUsage(usage: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(usage).filter(([name]) => OF_PROMPT.test(name)));
}

const OF_PROMPT = /^(?:(?:input|cache_\w+_input)_tokens|input_tokens_details)$/;

/** The largest counts of one answer so far. */
export class RunningUsage {
  readonly #composer: MessageComposer;
  readonly #dialect: Dialect;
  #most: ReportedCounts | null = null;
  #isLate = true; // no content followed the last report
  #isPending = false; // no event has the counts as they are now
  #added: JsonObject = {};
  #isAdded = false; // no event has these members yet
  readonly #fallen = new Set<string>();

  constructor(composer: MessageComposer, dialect: Dialect = {}) {
    this.#composer = composer;
    this.#dialect = dialect;
  }

  /**
   * Members that the usage has beside its counts: the service tier of the latest report. The next event has them, because a stream
   * may be cut before its counts.
   */
  add(members: JsonObject): void {
    if (Object.keys(members).length === 0) return;
    this.#isAdded ||= JSON.stringify(members) !== JSON.stringify(this.#added);
    this.#added = members;
  }

  /** The next piece of the answer: what it reports, and whether it has content. */
  take(reports: readonly ReportedCounts[], hasContent: boolean): void {
    if (hasContent) this.#isLate = false;
    for (const reported of reports) {
      if (saysNothing(reported)) continue;
      this.#isLate = true;
      if (this.#most !== null) this.#merge(this.#most, reported);
      else {
        this.#most = { ...reported };
        this.#isPending = true;
      }
    }
  }

  /** The least that is used by now; null if nothing was reported. */
  get usage(): JsonObject | null {
    if (this.#most === null) return null;
    const usage = makeUsage(this.#most, this.#dialect);
    return Object.keys(usage).length > 0 ? { ...usage, ...this.#added } : null;
  }

  /** The largest count of thinking alone. */
  get thinking(): number {
    return this.#most?.thinking ?? 0;
  }

  /** Output was counted. */
  get hasOutput(): boolean {
    return this.#most !== null && (outputOf(this.#most, this.#dialect) ?? 0) > 0;
  }

  /** Begins the message, with the counts of its prompt if they are known. */
  begin(): StreamEvent[] {
    if (this.#composer.isStarted) return [];
    const start = startUsage(this.usage ?? {});
    return this.#composer.start(Object.keys(start).length > 0 ? { ...start, output_tokens: 0 } : {});
  }

  /** The usage at the message's end: without an output count that more content followed. */
  finish(): JsonObject {
    const { usage } = this;
    if (this.#most === null || usage === null) return this.#added;
    if (!this.#isLate || !isOutputKnown(this.#most)) return { ...startUsage(usage), ...this.#added };
    this.#isPending = this.#isPending && this.#fallen.size > 0;
    return usage;
  }

  /** Adds counts that no event has yet to the last of the events, or to an event of their own. */
  carry(events: StreamEvent[]): void {
    // The tier alone is no reason for an event: it would begin the message before its content.
    if (!this.#isPending && !(this.#isAdded && events.length > 0)) return;
    this.#isPending = false;
    this.#isAdded = false;
    if (events.length === 0) events.push(...this.begin());
    const last = events.pop() ?? makeEvent({ type: 'ping' });
    const contradicted = this.#fallen.size > 0 && { contradicted: [...this.#fallen] };
    events.push({ ...last, usage: { ...(this.usage ?? this.#added), ...contradicted } });
  }

  #merge(most: ReportedCounts, reported: ReportedCounts): void {
    for (const name of RISING_COUNTS) {
      const [known, count] = [most[name], reported[name]];
      if (count === null || (count === 0 && known !== null) || count === known) continue;
      if (known !== null && count < known) this.#fallen.add(RISING[name]);
      most[name] = Math.max(known ?? 0, count);
      this.#isPending = true;
    }
    most.others = { ...most.others, ...reported.others };
    // Cached tokens are a share of their prompt: the latest share is right, whether it rose or fell.
    if (!reported.prompt) return;
    most.cacheRead = this.#latest(most.cacheRead, reported.cacheRead);
    most.cacheWrite = this.#latest(most.cacheWrite, reported.cacheWrite);
  }

  #latest(known: number | null, count: number | null): number | null {
    if (count === null || count === known) return known;
    this.#isPending = true;
    return count;
  }
}

/** The counts of a stream; `read` takes those of an event, and nothing else of it. */
export function streamCounts(running: RunningUsage, read: (event: ServerSentEvent) => boolean): StreamCounts {
  return {
    carry: (events) => running.carry(events),
    read,
    get usage() {
      return running.usage;
    },
  };
}
