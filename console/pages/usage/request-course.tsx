// A request's time line: each step with its time, as a bar on the scale of the whole.

import { Box, Group, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import type { ReceiptShape } from '../../../src/admin-api/shapes.ts';
import { formatMs } from '../../figures.ts';
import { Section } from '../../parts/section.tsx';
import { words } from '../../words.ts';
import { type RequestStep, stepsOf } from './request-steps.ts';

const { request: its } = words;
const LEAST_PERCENT = 0.6; // what took no time is seen all the same

export function RequestCourse({ receipt }: { receipt: ReceiptShape }) {
  const steps = stepsOf(receipt);
  const wholeMs = Math.max(1, receipt.latency_ms, ...steps.map((step) => spanOf(step)?.toMs ?? 0));
  return (
    <Section title={its.course} text={its.courseText(formatMs(receipt.latency_ms))}>
      <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: 'none' }}>
        {steps.map((step) => (
          <Box component="li" key={step.kind === 'attempt' ? `attempt ${step.number}` : step.kind}>
            <Step step={step} wholeMs={wholeMs} />
          </Box>
        ))}
      </Stack>
      {receipt.attempts.length === 0 && (
        <Text size="sm" c="dimmed">
          {its.noAttempt}
        </Text>
      )}
    </Section>
  );
}

function Step({ step, wholeMs }: { step: RequestStep; wholeMs: number }) {
  const span = spanOf(step);
  return (
    <>
      <Group justify="space-between" gap="xs" align="baseline">
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {nameOf(step)}
        </Text>
        <Text size="xs" c="dimmed" className="tabular">
          {timeWords(step)}
        </Text>
      </Group>
      <Detail step={step} />
      {span !== null && <Bar {...span} wholeMs={wholeMs} color={colorOf(step)} />}
    </>
  );
}

function Bar({ fromMs, toMs, wholeMs, color }: { fromMs: number; toMs: number; wholeMs: number; color: string }) {
  const width = Math.max(LEAST_PERCENT, ((toMs - fromMs) / wholeMs) * 100);
  const left = Math.min((fromMs / wholeMs) * 100, 100 - width);
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

/** Null: it has no times. */
function spanOf(step: RequestStep): { fromMs: number; toMs: number } | null {
  if (step.kind === 'first_token' || step.kind === 'end') return { fromMs: step.atMs, toMs: step.atMs };
  const { fromMs, toMs } = step;
  return fromMs === null || toMs === null ? null : { fromMs, toMs };
}

function timeWords(step: RequestStep): string {
  if (step.kind === 'first_token' || step.kind === 'end') return its.at(formatMs(step.atMs));
  const span = spanOf(step);
  if (span !== null) return its.fromTo(formatMs(span.fromMs), formatMs(span.toMs));
  return step.kind === 'attempt' ? formatMs(step.attempt.ms) : its.noTime;
}

function nameOf(step: RequestStep): string {
  if (step.kind === 'attempt') return its.steps.attempt(step.number, step.attempt.provider);
  if (step.kind === 'first_token') return its.steps.firstToken;
  return its.steps[step.kind];
}

function colorOf(step: RequestStep): string {
  if (step.kind === 'admission') return 'blue.5';
  if (step.kind === 'answer') return 'road.5';
  if (step.kind === 'attempt') return step.attempt.result === 'answered' ? 'road.6' : 'red.6';
  return 'gray.6';
}

function Detail({ step }: { step: RequestStep }): ReactNode {
  if (step.kind === 'admission') return <DetailText>{its.steps.admissionText}</DetailText>;
  if (step.kind !== 'attempt') return null;
  const { result, status, model, credential, reason } = step.attempt;
  const said = [
    its.results[result] ?? result,
    model,
    status === null ? null : its.attemptStatus(status),
    credential === null ? null : its.attemptCredential(credential),
  ];
  return (
    <>
      <DetailText>{said.filter((part) => part !== null).join(' · ')}</DetailText>
      {reason !== null && (
        <Text size="xs" c="red" style={{ overflowWrap: 'anywhere' }}>
          {reason}
        </Text>
      )}
    </>
  );
}

function DetailText({ children }: { children: ReactNode }) {
  return (
    <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
      {children}
    </Text>
  );
}
