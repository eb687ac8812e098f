// The steps of a request with their times since its arrival, from its record. Pure.

import type { UsageShape } from '../../../src/admin-api/shapes.ts';

type Attempt = UsageShape['attempts'][number];

export type RequestStep =
  | { kind: 'admission'; fromMs: number; toMs: number }
  | { kind: 'answer'; fromMs: number; toMs: number }
  | { kind: 'attempt'; number: number; attempt: Attempt; fromMs: number | null; toMs: number | null }
  | { kind: 'first_token'; atMs: number }
  | { kind: 'end'; atMs: number };

type Timed = Pick<UsageShape, 'admitted_ms' | 'attempts' | 'first_token_ms' | 'latency_ms' | 'stream'>;

/** In the order in which they happened. Attempts of older records have no times. */
export function stepsOf({ admitted_ms, attempts, first_token_ms, latency_ms, stream }: Timed): RequestStep[] {
  const steps: RequestStep[] = [];
  if (admitted_ms !== null) steps.push({ kind: 'admission', fromMs: 0, toMs: admitted_ms });
  for (const [at, attempt] of attempts.entries()) {
    const { started_ms: fromMs, ms } = attempt;
    steps.push({ kind: 'attempt', number: at + 1, attempt, fromMs, toMs: fromMs === null ? null : fromMs + ms });
  }
  if (first_token_ms !== null) steps.push({ kind: 'first_token', atMs: first_token_ms });
  const answered = attempts.find(({ result }) => result === 'answered');
  if (stream && answered !== undefined && answered.started_ms !== null)
    steps.push({ kind: 'answer', fromMs: first_token_ms ?? answered.started_ms + answered.ms, toMs: latency_ms });
  steps.push({ kind: 'end', atMs: latency_ms });
  return steps;
}
