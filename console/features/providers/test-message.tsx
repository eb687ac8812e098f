// Sends a message to a model through the public API, as an application would, and shows answer, latency and cost.

import { Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useBaseUrl } from '../../me.tsx';
import { Select } from '../../parts/later.tsx';
import { ActionButton, ButtonLink } from '../../parts/link.tsx';
import { FailureNotice, Hint } from '../../parts/page.tsx';
import { useConversation } from '../playground/conversation.ts';
import { KeyLine, KeyNeeded } from '../playground/key.tsx';
import { useKeySource } from '../playground/key-source.ts';
import { defaultSettings } from '../playground/request.ts';
import { failureAdvice, RunningAnswer, TurnView } from '../playground/turn.tsx';

const TEXT = 'Reply with one short sentence.';
const TOKENS_MAX = 256;

export function TestMessage({ provider, models }: { provider: string; models: readonly string[] }) {
  const [model, setModel] = useState(models[0] ?? '');
  const [text, setText] = useState(TEXT);
  const source = useKeySource(model);
  const talk = useConversation(useBaseUrl(), { ...defaultSettings, model, maxTokens: TOKENS_MAX });
  const { turns, running, failure } = talk;
  const send = async () => {
    const secret = await source.getSecret();
    if (secret === null) return;
    talk.startOver();
    talk.send([{ type: 'text', text }], secret);
  };
  return (
    <Stack mt="md" maw={720}>
      <Hint>The message takes the way of every request: it is held, routed, billed and recorded.</Hint>
      {models.length > 1 && (
        <Select
          label="Model"
          data={models}
          value={model}
          onChange={(name) => setModel(name ?? '')}
          allowDeselect={false}
        />
      )}
      <KeyNeeded source={source} />
      <TextInput label="Message" value={text} onChange={({ currentTarget }) => setText(currentTarget.value)} />
      <KeyLine source={source} />
      <Group>
        <ActionButton
          label={turns.length === 0 ? 'Send test message' : 'Send again'}
          icon="send"
          isPrimary
          disabled={!source.isReady || text.trim() === '' || model === ''}
          loading={running !== null || source.isPending}
          onClick={() => void send()}
        />
        <ButtonLink label="Done" variant="default" to="/models" search={{ provider }} />
      </Group>
      <FailureNotice failure={source.failure} />
      {failure !== null && (
        <FailureNotice title="The message was rejected" failure={failureAdvice[failure.code] ?? failure} />
      )}
      {turns.map((turn, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a turn keeps its place
        <TurnView key={at} turn={turn} />
      ))}
      {running !== null && <RunningAnswer answer={running} />}
    </Stack>
  );
}
