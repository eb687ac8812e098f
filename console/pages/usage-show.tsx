// One request: what became of it, step by step, and how its cost came about, to the last digit.

import { Alert, Button, Code, Grid, Group, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useParams } from '@tanstack/react-router';
import type { ReceiptShape } from '../../src/admin-api/shapes.ts';
import { ApiFailure } from '../api.ts';
import { type Role, useMe } from '../me.tsx';
import { CodeBlock } from '../parts/code-block.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { OutcomeBadge } from '../parts/outcome-badge.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { TextLink } from '../parts/text-link.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { useAsk } from '../queries.ts';
import { words } from '../words.ts';
import { RefundButton } from './usage/refund-button.tsx';
import { RequestCourse } from './usage/request-course.tsx';
import { RequestEntries } from './usage/request-entries.tsx';
import { RequestFacts } from './usage/request-facts.tsx';
import { RequestMargin } from './usage/request-margin.tsx';
import { RequestMeters } from './usage/request-meters.tsx';
import { RequestPrice } from './usage/request-price.tsx';
import { RequestSummary } from './usage/request-summary.tsx';

const { request: its } = words;
const seesJournal: readonly Role[] = ['operator', 'viewer', 'owner'];

export function UsageShow() {
  const { requestId } = useParams({ strict: false }) as { requestId: string };
  const { data: receipt, error, isPlaceholderData, refetch } = useAsk<ReceiptShape>(`/usage/${requestId}`);
  const isMissing = error instanceof ApiFailure && (error.status === 404 || error.status === 400);
  return (
    <>
      <PageHead
        title={its.title}
        text={<Code style={{ overflowWrap: 'anywhere' }}>{requestId}</Code>}
        actions={<HeadActions requestId={requestId} receipt={receipt} />}
      />
      {isMissing && <MissingRequest onRetry={() => void refetch()} />}
      {error !== null && !isMissing && <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {error === null && (receipt === undefined || isPlaceholderData ? <Waiting /> : <Receipt receipt={receipt} />)}
    </>
  );
}

function HeadActions({ requestId, receipt }: { requestId: string; receipt: ReceiptShape | undefined }) {
  const { role } = useMe();
  return (
    <>
      <CopyButton text={requestId} label={its.copyId} size="sm" />
      {role === 'operator' && receipt !== undefined && <RefundButton receipt={receipt} />}
    </>
  );
}

function MissingRequest({ onRetry }: { onRetry: () => void }) {
  return (
    <EmptyState
      icon="search"
      title={its.missingTitle}
      text={its.missingText}
      action={
        <>
          <Button onClick={onRetry}>{words.failure.tryAgain}</Button>
          <Text size="sm">
            <TextLink to="/usage">{its.back}</TextLink>
          </Text>
        </>
      }
    />
  );
}

function Receipt({ receipt }: { receipt: ReceiptShape }) {
  const { role } = useMe();
  return (
    <Stack gap="md">
      <Verdict receipt={receipt} />
      <RequestSummary receipt={receipt} />
      <Grid gap="md">
        <Grid.Col span={{ base: 12, lg: 8 }}>
          <Stack gap="md">
            <RequestCourse receipt={receipt} />
            <RequestPrice receipt={receipt} />
            {seesJournal.includes(role) && <RequestEntries receipt={receipt} />}
          </Stack>
        </Grid.Col>
        <Grid.Col span={{ base: 12, lg: 4 }}>
          <Stack gap="md">
            <RequestFacts receipt={receipt} />
            <RequestMeters meters={receipt.meters} />
            <RequestMargin receipt={receipt} />
          </Stack>
        </Grid.Col>
      </Grid>
      <RawJson receipt={receipt} />
    </Stack>
  );
}

/** How it ended, in a word, and in a sentence where that is not as it should be. */
function Verdict({ receipt }: { receipt: ReceiptShape }) {
  const text = its.outcomeTexts[receipt.outcome];
  if (text === null) return null;
  return (
    <Alert color={receipt.outcome === 'client_gone' ? 'yellow' : 'orange'} variant="light" p="sm">
      <Group gap="sm">
        <OutcomeBadge outcome={receipt.outcome} />
        <Text size="sm">{text}</Text>
      </Group>
    </Alert>
  );
}

function RawJson({ receipt }: { receipt: ReceiptShape }) {
  const [isShown, shown] = useDisclosure(false);
  return (
    <Stack gap="xs" align="flex-start" className="no-print">
      <Button variant="subtle" size="xs" onClick={shown.toggle} aria-expanded={isShown}>
        {isShown ? its.hideRaw : its.showRaw}
      </Button>
      {isShown && (
        <div style={{ width: '100%' }}>
          <CodeBlock code={JSON.stringify(receipt, null, 2)} heightMaxPx={480} />
        </div>
      )}
    </Stack>
  );
}
