// The timeline of a request: each phase as a bar on the scale of the whole request.

import { Box, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ReceiptShape, UsageShape } from '../../../src/admin-api/shapes.ts';
import { formatMs } from '../../figures.ts';
import { Hint, Section } from '../../parts/page.tsx';

const resultTexts = {
  answered: 'responded',
  rejected: 'rejected the request',
  credentials: 'rejected the credential',
  not_found: 'does not have the model',
  rate_limited: 'rate limited',
  overloaded: 'overloaded',
  timeout: 'timed out',
  failed: 'failed',
} as Readonly<Record<string, string>>;

const PERCENT_MIN = 0.6; // keeps short steps visible

export function RequestTimeline({ receipt }: { receipt: ReceiptShape }) {
  const steps = stepsOf(receipt);
  const totalMs = Math.max(1, receipt.latency_ms, ...steps.map((step) => spanOf(step)?.toMs ?? 0));
  return (
    <Section title="Timeline" text={`Total ${formatMs(receipt.latency_ms)}`}>
      <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {steps.map((step) => (
          <Box component="li" key={step.kind === 'attempt' ? `attempt ${step.number}` : step.kind}>
            <Step step={step} totalMs={totalMs} />
          </Box>
        ))}
      </Stack>
      {receipt.attempts.length === 0 && <Hint>No attempt was made.</Hint>}
    </Section>
  );
}

function Step({ step, totalMs }: { step: RequestStep; totalMs: number }) {
  const span = spanOf(step);
  return (
    <>
      <Group justify="space-between" gap="xs" align="baseline">
        <Text size="sm" fw={600} className="wrap">
          {nameOf(step)}
        </Text>
        <Hint size="xs" className="tabular">
          {timeWords(step)}
        </Hint>
      </Group>
      <Detail step={step} />
      {span !== null && <Bar {...span} totalMs={totalMs} color={colorOf(step)} />}
    </>
  );
}

function Bar({ fromMs, toMs, totalMs, color }: { fromMs: number; toMs: number; totalMs: number; color: string }) {
  const width = Math.max(PERCENT_MIN, ((toMs - fromMs) / totalMs) * 100);
  const left = Math.min((fromMs / totalMs) * 100, 100 - width);
  return (
    <Box
      mt={4}
      h={8}
      aria-hidden="true"
      style={{ position: 'relative', borderRadius: 4, background: 'var(--mantine-color-default-hover)' }}
    >
      <Box h={8} style={{ position: 'absolute', left: `${left}%`, width: `${width}%`, borderRadius: 4 }} bg={color} />
    </Box>
  );
}

/** Null if no times were recorded. */
function spanOf(step: RequestStep): { fromMs: number; toMs: number } | null {
  if (step.kind === 'first_token' || step.kind === 'end') return { fromMs: step.atMs, toMs: step.atMs };
  const { fromMs, toMs } = step;
  return fromMs === null || toMs === null ? null : { fromMs, toMs };
}

function timeWords(step: RequestStep): string {
  if (step.kind === 'first_token' || step.kind === 'end') return `at ${formatMs(step.atMs)}`;
  const span = spanOf(step);
  if (span !== null) return `${formatMs(span.fromMs)} – ${formatMs(span.toMs)}`;
  return step.kind === 'attempt' ? formatMs(step.attempt.ms) : 'not recorded';
}

function nameOf(step: RequestStep): string {
  if (step.kind === 'attempt')
    return [`Attempt ${step.number}`, ...(step.attempt.provider === null ? [] : [step.attempt.provider])].join(': ');
  if (step.kind === 'first_token') return 'First token';
  if (step.kind === 'admission') return 'Admission';
  return step.kind === 'answer' ? 'Relay' : 'Settlement';
}

function colorOf(step: RequestStep): string {
  if (step.kind === 'admission') return 'blue.5';
  if (step.kind === 'answer') return 'road.5';
  if (step.kind === 'attempt') return step.attempt.result === 'answered' ? 'road.6' : 'red.6';
  return 'gray.6';
}

function Detail({ step }: { step: RequestStep }): ReactNode {
  if (step.kind === 'admission') return <DetailText>Authentication, model lookup and hold</DetailText>;
  if (step.kind !== 'attempt') return null;
  const { result, status, model, credential, reason } = step.attempt;
  const said = [
    resultTexts[result] ?? result,
    model,
    status === null ? null : `status ${status}`,
    credential === null ? null : `credential ${credential}`,
  ];
  return (
    <>
      <DetailText>{said.filter((part) => part !== null).join(' · ')}</DetailText>
      {reason !== null && (
        <Text size="xs" c="red" className="wrap">
          {reason}
        </Text>
      )}
    </>
  );
}

function DetailText({ children }: { children: ReactNode }) {
  return (
    <Hint size="xs" className="wrap">
      {children}
    </Hint>
  );
}

type Attempt = UsageShape['attempts'][number];

type RequestStep =
  | { kind: 'admission'; fromMs: number; toMs: number }
  | { kind: 'answer'; fromMs: number; toMs: number }
  | { kind: 'attempt'; number: number; attempt: Attempt; fromMs: number | null; toMs: number | null }
  | { kind: 'first_token'; atMs: number }
  | { kind: 'end'; atMs: number };

type Timed = Pick<UsageShape, 'admitted_ms' | 'attempts' | 'first_token_ms' | 'latency_ms' | 'stream'>;

/** In chronological order. Attempts of old records have no times. */
function stepsOf({ admitted_ms, attempts, first_token_ms, latency_ms, stream }: Timed): RequestStep[] {
  const steps: RequestStep[] = [];
  if (admitted_ms !== null) steps.push({ kind: 'admission', fromMs: 0, toMs: admitted_ms });
  for (const [at, attempt] of attempts.entries()) {
    const { started_ms: fromMs, ms } = attempt;
    // Start and duration are rounded, so that their sum may exceed the total.
    const toMs = fromMs === null ? null : Math.min(fromMs + ms, Math.max(fromMs, latency_ms));
    steps.push({ kind: 'attempt', number: at + 1, attempt, fromMs, toMs });
  }
  if (first_token_ms !== null) steps.push({ kind: 'first_token', atMs: first_token_ms });
  const answered = attempts.find(({ result }) => result === 'answered');
  if (stream && answered !== undefined && answered.started_ms !== null)
    steps.push({ kind: 'answer', fromMs: first_token_ms ?? answered.started_ms + answered.ms, toMs: latency_ms });
  steps.push({ kind: 'end', atMs: latency_ms });
  return steps;
}
