// One turn of the conversation; below an answer how it ended, how long it took, what it cost.

import { Alert, Anchor, Button, Card, Group, Loader, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { UsageShape } from '../../../src/admin-api/shapes.ts';
import { ApiFailure, ask } from '../../api.ts';
import { useBaseUrl } from '../../base-url.ts';
import { formatCount, formatMs } from '../../figures.ts';
import type { Answer } from '../../message-blocks.ts';
import { Icon } from '../../parts/icon.tsx';
import { Money } from '../../parts/money.tsx';
import { usePlaygroundKey } from '../../playground-key.ts';
import type { AnswerTurn, Turn, UserTurn } from '../../playground-request.ts';
import { askWithKey } from '../../send-message.ts';
import { words } from '../../words.ts';
import { AnswerBlocks, BlockView } from './blocks.tsx';
import { CodeButton } from './code-button.tsx';

const its = words.playground;

export function TurnView({ turn }: { turn: Turn }) {
  return turn.role === 'user' ? <UserTurnView turn={turn} /> : <AnswerTurnView turn={turn} />;
}

function UserTurnView({ turn }: { turn: UserTurn }) {
  return (
    <Card withBorder p="sm" bg="var(--mantine-color-default-hover)" component="article" aria-label={its.you}>
      <Text size="xs" fw={600} c="dimmed" mb={4}>
        {its.you}
      </Text>
      {turn.content.map((block, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a block keeps its place
        <BlockView key={place} block={block} inputText={null} isLast={false} />
      ))}
    </Card>
  );
}

export function RunningAnswer({ answer }: { answer: Answer }) {
  return (
    <Card withBorder p="sm" component="article" aria-label={its.assistant} aria-busy="true">
      <Group gap="xs" mb={4}>
        <Text size="xs" fw={600} c="dimmed">
          {answer.model ?? its.assistant}
        </Text>
        <Loader size={12} />
      </Group>
      {answer.blocks.length === 0 ? (
        <Text size="sm" c="dimmed">
          {its.waiting}
        </Text>
      ) : (
        <AnswerBlocks answer={answer} isRunning />
      )}
    </Card>
  );
}

function AnswerTurnView({ turn }: { turn: AnswerTurn }) {
  const { answer } = turn;
  return (
    <Card withBorder p="sm" component="article" aria-label={its.assistant}>
      <Text size="xs" fw={600} c="dimmed" mb={4}>
        {answer.model ?? its.assistant}
      </Text>
      <AnswerBlocks answer={answer} isRunning={false} />
      {answer.failure !== null && (
        <Alert color="red" variant="light" mt="sm" p="sm" title={its.brokenOff} icon={<Icon name="warning" />}>
          {its.todo[answer.failure.code] ?? answer.failure.message}
        </Alert>
      )}
      <AnswerFoot turn={turn} />
    </Card>
  );
}

function AnswerFoot({ turn }: { turn: AnswerTurn }) {
  const { answer, firstContentMs, wholeMs, isStopped } = turn;
  const facts = [
    isStopped ? its.stopped : (its.stopReasons[answer.stopReason ?? ''] ?? answer.stopReason),
    firstContentMs === null ? null : its.firstToken(formatMs(firstContentMs)),
    its.whole(formatMs(wholeMs)),
  ].filter((fact) => fact !== null && fact !== '');
  return (
    <Group gap="xs" mt="sm" justify="space-between">
      <Text size="xs" c="dimmed" component="div">
        {facts.join(' · ')}
        <Cost requestId={turn.requestId} />
      </Text>
      <CodeButton body={turn.body} size="compact-xs" />
    </Group>
  );
}

type Counted = Pick<UsageShape, 'cost' | 'input_tokens' | 'output_tokens'>;

const TRIES_MAX = 20;
const TRY_MS = 1_000;

/** From the message's record: whose key it was may see it there, and its holder by the key itself. */
function Cost({ requestId }: { requestId: string | null }) {
  const baseUrl = useBaseUrl();
  const [key] = usePlaygroundKey();
  const record = useQuery({
    queryKey: ['playground-cost', requestId],
    queryFn: ({ signal }) => findRecord(requestId ?? '', baseUrl, key?.secret ?? '', signal),
    enabled: requestId !== null,
    // There when the end of an answer has come; of one that was left, when its provider has ended.
    refetchInterval: ({ state }) => (state.data == null && state.dataUpdateCount < TRIES_MAX ? TRY_MS : false),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (requestId === null) return null;
  if (record.data == null) return <> · {record.isError ? its.costUnknown : its.costAwaited}</>;
  const { counted, isSeen } = record.data;
  return (
    <>
      {' · '}
      {its.tokens(formatCount(counted.input_tokens), formatCount(counted.output_tokens))}
      {` · ${its.cost} `}
      <Money usd={counted.cost} fw={600} c="bright" data-testid="cost" />
      {isSeen && (
        <>
          {' · '}
          <Anchor inherit renderRoot={(props) => <Link {...props} to="/usage/$requestId" params={{ requestId }} />}>
            {its.showRecord}
          </Anchor>
        </>
      )}
    </>
  );
}

interface FoundRecord {
  counted: Counted;
  /** Whether its page is there for whoever looks. */
  isSeen: boolean;
}

async function findRecord(
  requestId: string,
  baseUrl: string,
  secret: string,
  signal: AbortSignal,
): Promise<FoundRecord | null> {
  const seen = await seenRecord(requestId, signal);
  if (seen !== null) return seen;
  const counted = await askWithKey<Counted>(baseUrl, `/v1/usage/${requestId}`, secret, signal);
  if (counted === null) return null;
  // It may have come to be between the two questions.
  return (await seenRecord(requestId, signal)) ?? { counted, isSeen: false };
}

async function seenRecord(requestId: string, signal: AbortSignal): Promise<FoundRecord | null> {
  try {
    return { counted: await ask<UsageShape>(`/usage/${requestId}`, { signal }), isSeen: true };
  } catch (failure) {
    if (failure instanceof ApiFailure && failure.status === 404) return null;
    throw failure;
  }
}

interface RefusalProps {
  onAgain: () => void;
  children: React.ReactNode;
  title: string;
  onTakeBack: () => void;
}

/** What was refused, with what can be done. */
export function Refusal({ title, children, onAgain, onTakeBack }: RefusalProps) {
  return (
    <Alert color="red" variant="light" title={title} icon={<Icon name="warning" />} role="alert">
      {children}
      <Group gap="xs" mt="sm">
        <Button size="xs" color="red" variant="light" onClick={onAgain}>
          {its.sendAgain}
        </Button>
        <Button size="xs" variant="default" onClick={onTakeBack}>
          {its.takeBack}
        </Button>
      </Group>
    </Alert>
  );
}
