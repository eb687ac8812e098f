// One turn of a conversation, with stop reason, latency, cost and code below a response.

import { Alert, type ButtonProps, Card, Group, Loader, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { UsageShape } from '../../../src/admin-api/shapes.ts';
import { ApiFailure, call } from '../../api.ts';
import { formatMs } from '../../figures.ts';
import { useBaseUrl } from '../../me.tsx';
import { DialogButton } from '../../parts/dialog-button.tsx';
import { ActionButton, Icon, pathOf, TextLink } from '../../parts/link.tsx';
import { Money } from '../../parts/money.tsx';
import { Hint } from '../../parts/page.tsx';
import { SnippetTabs } from '../../parts/snippet-tabs.tsx';
import { splitTokens, type TokenCounts, tokensText } from '../../tokens.ts';
import type { Answer, Block } from './answer.ts';
import { AnswerBlocks, BlockView } from './blocks.tsx';
import { usePlaygroundKey } from './key-source.ts';
import type { AnswerTurn, Turn, UserTurn } from './request.ts';
import { callWithKey } from './send-message.ts';

const stopReasonTexts = {
  end_turn: 'complete',
  max_tokens: 'max tokens reached',
  stop_sequence: 'stop sequence',
  tool_use: 'waiting for tool result',
  refusal: 'declined by the model',
  pause_turn: 'paused',
} as Readonly<Record<string, string>>;

export const failureAdvice = {
  unreachable: 'Check that the service is running and that this page can reach its address.',
  insufficient_user_quota: 'Add credit, raise the quota, or lower max tokens.',
  requests_rate_exceeded: 'Too many requests per minute for this key or account.',
  input_tokens_rate_exceeded: 'Too many input tokens per minute for this key or account.',
  output_tokens_rate_exceeded: 'Too many output tokens per minute for this key or account. Lower max tokens.',
  concurrency_exceeded: 'Too many concurrent requests for this key or account. Wait for one to complete.',
  model_not_found: 'The model does not exist, or the key has no access to it. Choose another model.',
  key_invalid: 'Use another key.',
  key_disabled: 'The key is disabled or revoked. Use another key.',
  key_expired: 'The key has expired. Use another key.',
  account_disabled: 'The account is disabled. Ask an operator to enable it.',
  origin_not_allowed: 'The key does not allow requests from the origin of this page.',
  address_not_allowed: 'The key does not allow requests from your IP address.',
  invalid_request: 'The message starts with the path of the invalid field.',
  feature_not_priced: 'The model has no price for a feature that the request uses.',
  upstream_rejected: 'The provider rejected the request with this message.',
  upstream_overloaded: 'The provider is overloaded. Retry shortly, or use another model.',
  upstream_rate_limited: 'The provider limits the rate of this installation. Retry shortly.',
  upstream_failed: 'The provider failed. Retry, or use another model.',
  upstream_timeout: 'The provider did not respond in time. Retry, or use another model.',
  upstream_credentials:
    'The provider rejected the credential of this installation, or does not have the model. Contact an operator.',
  overloaded: 'The service is overloaded. Retry shortly.',
  store_unavailable: 'The service cannot reach its database. Retry shortly.',
  connection_broken: 'The connection was lost. The output produced so far is billed.',
} as Readonly<Record<string, string>>;

export function TurnView({ turn }: { turn: Turn }) {
  return turn.role === 'user' ? <UserTurnView turn={turn} /> : <AnswerTurnView turn={turn} />;
}

function UserTurnView({ turn }: { turn: UserTurn }) {
  return (
    <Card p="sm" bg="var(--mantine-color-default-hover)" component="article" aria-label="You">
      <Hint size="xs" fw={600} mb={4}>
        You
      </Hint>
      {turn.content.map((block, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a block keeps its place
        <BlockView key={place} block={block} inputText={null} isLast={false} />
      ))}
    </Card>
  );
}

export function RunningAnswer({ answer }: { answer: Answer }) {
  return (
    <Card p="sm" component="article" aria-label="Response" aria-busy="true">
      <Group gap="xs" mb={4}>
        <Hint size="xs" fw={600}>
          {answer.model ?? 'Response'}
        </Hint>
        <Loader size={12} />
      </Group>
      {answer.blocks.length === 0 ? (
        <Hint>Waiting for the first token…</Hint>
      ) : (
        <AnswerBlocks answer={answer} isRunning />
      )}
    </Card>
  );
}

function AnswerTurnView({ turn }: { turn: AnswerTurn }) {
  const { answer } = turn;
  return (
    <Card p="sm" component="article" aria-label="Response">
      <Hint size="xs" fw={600} mb={4}>
        {answer.model ?? 'Response'}
      </Hint>
      <AnswerBlocks answer={answer} isRunning={false} />
      {answer.failure !== null && (
        <Alert color="red" mt="sm" title="The response ended early" icon={<Icon name="warning" />}>
          {failureAdvice[answer.failure.code] ?? answer.failure.message}
        </Alert>
      )}
      <AnswerFoot turn={turn} />
    </Card>
  );
}

function AnswerFoot({ turn }: { turn: AnswerTurn }) {
  const { answer, firstContentMs, totalMs, isStopped } = turn;
  const facts = [
    isStopped ? 'stopped' : (stopReasonTexts[answer.stopReason ?? ''] ?? answer.stopReason),
    firstContentMs === null ? null : `first token ${formatMs(firstContentMs)}`,
    `total ${formatMs(totalMs)}`,
  ].filter((fact) => fact !== null && fact !== '');
  return (
    <Group gap="xs" mt="sm" justify="space-between">
      <Hint size="xs" component="div">
        {facts.join(' · ')}
        <Cost requestId={turn.requestId} />
      </Hint>
      {!turn.answer.blocks.some(isMedia) && !saysSound(turn.body) && <CodeButton body={turn.body} size="compact-xs" />}
    </Group>
  );
}

/** The code of a request is that of messages. */
function isMedia({ type }: Block): boolean {
  return type === 'image' || type === 'sound';
}

function saysSound({ messages }: AnswerTurn['body']): boolean {
  const contents = (messages as { content: string | readonly Block[] }[]).map(({ content }) => content);
  return contents.some((content) => typeof content !== 'string' && content.some(({ type }) => type === 'sound'));
}

type Counted = Pick<UsageShape, 'cost' | keyof TokenCounts>;

const TRIES_MAX = 20;
const TRY_MS = 1_000;

/** The cost from the usage record, read with the session or else with the key. */
function Cost({ requestId }: { requestId: string | null }) {
  const baseUrl = useBaseUrl();
  const [key] = usePlaygroundKey();
  const record = useQuery({
    queryKey: ['playground-cost', requestId],
    queryFn: ({ signal }) => findRecord(requestId ?? '', baseUrl, key?.secret ?? '', signal),
    enabled: requestId !== null,
    // The record exists when the response ends, or after a stop when the provider ends.
    refetchInterval: ({ state }) => (state.data == null && state.dataUpdateCount < TRIES_MAX ? TRY_MS : false),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (requestId === null) return null;
  if (record.data == null) return <> · {record.isError ? 'cost unknown' : 'calculating cost…'}</>;
  const { counted, isVisible } = record.data;
  return (
    <>
      {' · '}
      {tokensText(splitTokens(counted))}
      {` · cost `}
      <Money usd={counted.cost} precision="request" fw={600} c="bright" data-testid="cost" />
      {isVisible && (
        <>
          {' · '}
          <TextLink to={pathOf.request(requestId)}>View request</TextLink>
        </>
      )}
    </>
  );
}

interface FoundRecord {
  counted: Counted;
  /** Whether the user can open the page of the request. */
  isVisible: boolean;
}

async function findRecord(
  requestId: string,
  baseUrl: string,
  secret: string,
  signal: AbortSignal,
): Promise<FoundRecord | null> {
  const seen = await readRecord(requestId, signal);
  if (seen !== null) return seen;
  const counted = await callWithKey<Counted>(baseUrl, `/v1/usage/${requestId}`, secret, signal);
  if (counted === null) return null;
  // The record may have been written between the two calls.
  return (await readRecord(requestId, signal)) ?? { counted, isVisible: false };
}

async function readRecord(requestId: string, signal: AbortSignal): Promise<FoundRecord | null> {
  try {
    return { counted: await call('GET /usage/{request_id}', { id: requestId, signal }), isVisible: true };
  } catch (failure) {
    if (failure instanceof ApiFailure && failure.status === 404) return null;
    throw failure;
  }
}

interface RejectionAlertProps {
  onAgain: () => void;
  children: React.ReactNode;
  title: string;
  onTakeBack: () => void;
}

/** A rejected message with its remedies. */
export function RejectionAlert({ title, children, onAgain, onTakeBack }: RejectionAlertProps) {
  return (
    <Alert color="red" title={title} icon={<Icon name="warning" />} role="alert">
      {children}
      <Group gap="xs" mt="sm">
        <ActionButton label="Retry" size="xs" color="red" variant="light" onClick={onAgain} />
        <ActionButton label="Edit message" size="xs" onClick={onTakeBack} />
      </Group>
    </Alert>
  );
}

const CODE_HEIGHT_MAX_PX = 480;

interface CodeButtonProps extends ButtonProps {
  body: Readonly<Record<string, unknown>>;
}

export function CodeButton({ body, ...button }: CodeButtonProps) {
  const baseUrl = useBaseUrl();
  return (
    <DialogButton label="Code" title="Request as code" dialogSize="xl" {...button}>
      {() => (
        <Stack gap="sm">
          <Hint>
            The examples read your API key from an environment variable: OPENAI_API_KEY for the OpenAI SDKs, and
            ANTHROPIC_API_KEY for all others.
          </Hint>
          <SnippetTabs request={{ baseUrl, key: null, body }} heightMaxPx={CODE_HEIGHT_MAX_PX} />
        </Stack>
      )}
    </DialogButton>
  );
}
