// One request: outcome, cost, tokens, latency, details and margin. Operators refund it here.

import { Alert, Code, Grid, Group, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useParams } from '@tanstack/react-router';
import type { ReceiptShape } from '../../../src/admin-api/shapes.ts';
import { ApiFailure } from '../../api.ts';
import { formatMs, formatShort } from '../../figures.ts';
import { useForm } from '../../form.ts';
import { fieldFaults } from '../../form-faults.ts';
import { outcomeLabels, serviceTierLabels } from '../../labels.ts';
import { type Role, seesInstallation, useMe } from '../../me.tsx';
import { formatExactMoney, formatRequestMoney, nanoOf, usdOf } from '../../money.ts';
import { useNames } from '../../names.ts';
import { AmountField } from '../../parts/amount-field.tsx';
import { OutcomeBadge } from '../../parts/badges.tsx';
import { CodeBlock, CopyButton } from '../../parts/code-block.tsx';
import { DialogButton, FormActions } from '../../parts/dialog-button.tsx';
import { ActionButton, pathOf, TextLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import {
  EmptyState,
  type Fact,
  Facts,
  FailureNotice,
  Hint,
  Loading,
  PageHead,
  Section,
  StatTile,
} from '../../parts/page.tsx';
import { When } from '../../parts/times.tsx';
import { useCreate, useGet } from '../../queries.ts';
import { splitTokens, sumTokens, tokensText } from '../../tokens.ts';
import { recordUnitsText } from '../../units.ts';
import { RequestEntries, RequestMeters } from './balance-impact.tsx';
import { reasonOf } from './columns.tsx';
import { RequestPrice } from './price.tsx';
import { RequestTimeline } from './timeline.tsx';

const outcomeTexts = {
  completed: null,
  client_gone: 'The client disconnected before the response ended. The output produced so far is billed.',
  upstream_cut: 'The provider ended its response early. The output received so far is billed.',
  quota_cut: 'The response was stopped because the balance or a spend limit was exhausted.',
  service_cut: 'The service stopped while it responded. Only output that was certainly produced is billed.',
  failed: 'The request failed before any output. Nothing is billed.',
};

const usageSourceLabels = { reported: 'Provider', estimated: 'Estimate', none: 'None' };

const seesJournal: readonly Role[] = ['operator', 'viewer', 'owner'];

export function UsageShow() {
  const { requestId } = useParams({ strict: false }) as { requestId: string };
  const { data: receipt, error, isPlaceholderData, refetch } = useGet('/usage/{request_id}', { id: requestId });
  const isMissing = error instanceof ApiFailure && (error.status === 404 || error.status === 400);
  return (
    <>
      <PageHead
        title="Request"
        text={<Code className="wrap">{requestId}</Code>}
        actions={<HeadActions requestId={requestId} receipt={receipt} />}
      />
      {isMissing && <MissingRequest onRetry={() => void refetch()} />}
      {error !== null && !isMissing && <FailureNotice failure={error} onRetry={() => void refetch()} />}
      {error === null && (receipt === undefined || isPlaceholderData ? <Loading /> : <Receipt receipt={receipt} />)}
    </>
  );
}

function HeadActions({ requestId, receipt }: { requestId: string; receipt: ReceiptShape | undefined }) {
  const { role } = useMe();
  return (
    <>
      <CopyButton text={requestId} label="Copy ID" size="sm" />
      {role === 'operator' && receipt !== undefined && <RefundButton receipt={receipt} />}
    </>
  );
}

function MissingRequest({ onRetry }: { onRetry: () => void }) {
  return (
    <EmptyState
      icon="search"
      title="Request not found"
      text="The request may still be running, it may have been rejected, or you may not have access to it."
      action={
        <>
          <ActionButton label="Retry" isPrimary onClick={onRetry} />
          <Text size="sm">
            <TextLink to="/usage">View all requests</TextLink>
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
      <OutcomeNotice receipt={receipt} />
      <RequestSummary receipt={receipt} />
      <Grid gap="md">
        <Grid.Col span={{ base: 12, lg: 8 }}>
          <Stack gap="md">
            <RequestTimeline receipt={receipt} />
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

/** Explains an outcome other than success. */
function OutcomeNotice({ receipt }: { receipt: ReceiptShape }) {
  const text = outcomeTexts[receipt.outcome];
  if (text === null) return null;
  const reason = reasonOf(receipt);
  return (
    <Alert color={receipt.outcome === 'client_gone' ? 'yellow' : 'orange'}>
      <Group gap="sm">
        <OutcomeBadge outcome={receipt.outcome} />
        {reason !== null && (
          <Text size="sm" fw={600}>
            {reason}
          </Text>
        )}
        <Text size="sm">{text}</Text>
      </Group>
      {receipt.error !== null && (
        <Text size="sm" mt={4} className="wrap">
          <Code>{receipt.error.code}</Code> {receipt.error.message}
        </Text>
      )}
    </Alert>
  );
}

function RawJson({ receipt }: { receipt: ReceiptShape }) {
  const [isShown, shown] = useDisclosure(false);
  return (
    <Stack gap="xs" align="flex-start" className="no-print">
      <ActionButton
        label={isShown ? 'Hide JSON' : 'Show JSON'}
        variant="subtle"
        size="xs"
        onClick={shown.toggle}
        aria-expanded={isShown}
      />
      {isShown && (
        <div style={{ width: '100%' }}>
          <CodeBlock code={JSON.stringify(receipt, null, 2)} heightMaxPx={480} />
        </div>
      )}
    </Stack>
  );
}

function RequestSummary({ receipt }: { receipt: ReceiptShape }) {
  const { cost, written_off } = receipt;
  const tokens = splitTokens(receipt);
  const firstToken = receipt.first_token_ms;
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="md">
      <StatTile
        label="Status"
        value={
          <Text span inherit fz="lg" style={{ whiteSpace: 'normal' }}>
            {outcomeLabels[receipt.outcome]}
          </Text>
        }
        note={String(receipt.status)}
      />
      <StatTile
        label="Cost"
        value={<Money usd={cost} precision="request" />}
        {...(nanoOf(written_off) !== 0n && { note: `${formatRequestMoney(written_off)} written off` })}
      />
      <StatTile
        label="Tokens"
        value={formatShort(sumTokens(tokens))}
        note={
          <>
            {tokensText(tokens)}
            <div>{recordUnitsText(receipt.units)}</div>
          </>
        }
      />
      <StatTile
        label="Latency"
        value={formatMs(receipt.latency_ms)}
        {...(firstToken !== null && { note: `first token after ${formatMs(firstToken)}` })}
      />
    </SimpleGrid>
  );
}

function RequestFacts({ receipt }: { receipt: ReceiptShape }) {
  const names = useNames([receipt]);
  const me = useMe();
  const account = names.account(receipt.account);
  return (
    <Section title="Details">
      <Facts
        facts={[
          { name: 'Model', value: receipt.model },
          known('Group', receipt.group),
          seesInstallation(me)
            ? { name: 'Account', value: <TextLink to={pathOf.account(receipt.account)}>{account}</TextLink> }
            : null,
          { name: 'API key', value: <TextLink to={pathOf.key(receipt.key)}>{names.key(receipt.key)}</TextLink> },
          { name: 'Received', value: <When at={receipt.received_at} isPrecise /> },
          { name: 'Completed', value: <When at={receipt.at} isPrecise /> },
          { name: 'Streaming', value: receipt.stream ? 'Yes' : 'No' },
          known('Provider', receipt.provider),
          receipt.upstream_model === receipt.model ? null : known('Upstream model', receipt.upstream_model),
          { name: 'Token source', value: usageSourceLabels[receipt.usage_source] },
          known('Service tier', receipt.service_tier && serviceTierLabels[receipt.service_tier]),
          receipt.session === null
            ? null
            : {
                name: 'Session',
                value: (
                  <TextLink to="/session" search={{ session: receipt.session }} className="wrap">
                    {receipt.session}
                  </TextLink>
                ),
              },
          known('Agent', receipt.agent),
          ...Object.entries(receipt.tags).map(([name, value]) => ({ name: `Tag ${name}`, value })),
        ]}
      />
    </Section>
  );
}

function known(name: string, value: string | null): Fact | null {
  return value === null ? null : { name, value };
}

function RequestMargin({ receipt }: { receipt: ReceiptShape }) {
  if (!seesInstallation(useMe())) return null;
  const { cost, written_off, provider_cost, margin } = receipt;
  if (provider_cost === null)
    return (
      <Section title="Margin">
        <Hint>The provider cost is unknown: the route has no cost.</Hint>
      </Section>
    );
  const paid = usdOf(nanoOf(cost) - nanoOf(written_off));
  const shared = { precision: 'request' } as const;
  return (
    <Section title="Margin">
      <Facts
        facts={[
          { name: 'Revenue', value: <Money usd={paid} {...shared} /> },
          { name: 'Provider cost', value: <Money usd={provider_cost} {...shared} /> },
          {
            name: 'Margin',
            value: <Money usd={margin} {...shared} fw={650} {...(margin?.startsWith('-') === true && { c: 'red' })} />,
          },
        ]}
      />
    </Section>
  );
}

const FIELDS = ['amount', 'note'];

export function RefundButton({ receipt }: { receipt: ReceiptShape }) {
  const left = nanoOf(receipt.cost) - nanoOf(receipt.written_off);
  if (left <= 0n) return null;
  return (
    <DialogButton label="Refund…" title="Refund request">
      {(close) => <RefundForm requestId={receipt.request_id} most={usdOf(left)} onDone={close} />}
    </DialogButton>
  );
}

interface RefundValues {
  amount: string;
  note: string;
}

interface RefundFormProps {
  requestId: string;
  most: string;
  onDone: () => void;
}

function RefundForm({ requestId, most, onDone }: RefundFormProps) {
  const form = useForm({ initialValues: { amount: '', note: '' } });
  const refund = useCreate('POST /usage/{request_id}/refunds', {
    id: requestId,
    toBody: refundBody,
    done: 'Refund issued.',
    onDone,
  });
  const faults = fieldFaults(refund.error, FIELDS);
  const change = (field: keyof RefundValues, value: string) => {
    form.setFieldValue(field, value);
    refund.reset();
  };
  return (
    <form onSubmit={form.onSubmit((values) => refund.mutate(values))}>
      <Stack>
        <Text size="sm">{`You can refund up to ${formatExactMoney(most)}. The account balance is credited immediately.`}</Text>
        <AmountField
          label="Amount (USD)"
          description="Leave empty to refund the full amount."
          placeholder={most}
          value={form.values.amount}
          onChange={(usd) => change('amount', usd)}
          error={faults?.['amount']}
          data-autofocus
        />
        <TextInput
          label="Note"
          description="Visible to the account in its transactions."
          value={form.values.note}
          onChange={(event) => change('note', event.currentTarget.value)}
          error={faults?.['note']}
        />
        {faults === null && <FailureNotice failure={refund.error} />}
        <FormActions onCancel={onDone} label="Refund" isPending={refund.isPending} />
      </Stack>
    </form>
  );
}

/** Without an amount, the service refunds the rest. */
function refundBody({ amount, note }: RefundValues): object {
  return { ...(amount.trim() !== '' && { amount: amount.trim() }), ...(note.trim() !== '' && { note: note.trim() }) };
}
