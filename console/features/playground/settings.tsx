// The request parameters other than the messages.

import { Group, NumberInput, SegmentedControl, Stack, Text, Textarea } from '@mantine/core';
import { optionsOf } from '../../labels.ts';
import { ActionButton } from '../../parts/link.tsx';
import { exampleTools, type PlaygroundSettings, readTools } from './request.ts';

const thinkingLabels = { off: 'Off', adaptive: 'Adaptive', budget: 'Budget' };

interface Editing {
  settings: PlaygroundSettings;
  onChange: (changes: Partial<PlaygroundSettings>) => void;
}

export function Parameters({ settings, onChange }: Editing) {
  return (
    <Stack gap="sm">
      <Textarea
        label="System prompt"
        autosize
        minRows={2}
        maxRows={8}
        value={settings.system}
        onChange={({ currentTarget }) => onChange({ system: currentTarget.value })}
      />
      <Group grow align="flex-start">
        <NumberInput
          label="Max tokens"
          min={1}
          allowDecimal={false}
          hideControls
          thousandSeparator=","
          value={settings.maxTokens}
          onChange={(maxTokens) => onChange({ maxTokens })}
        />
        <NumberInput
          label="Temperature"
          placeholder="Model default"
          min={0}
          max={2}
          step={0.1}
          hideControls
          value={settings.temperature}
          onChange={(temperature) => onChange({ temperature })}
        />
      </Group>
      <Thinking settings={settings} onChange={onChange} />
      <Tools text={settings.tools} onChange={(tools) => onChange({ tools })} />
    </Stack>
  );
}

function Thinking({ settings, onChange }: Editing) {
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500} id="playground-thinking">
        Thinking
      </Text>
      <SegmentedControl
        size="xs"
        aria-labelledby="playground-thinking"
        value={settings.thinking}
        onChange={(thinking) => onChange({ thinking: thinking as PlaygroundSettings['thinking'] })}
        data={optionsOf(thinkingLabels)}
      />
      {settings.thinking === 'budget' && (
        <NumberInput
          label="Thinking budget (tokens)"
          description="Must be less than max tokens."
          min={1}
          allowDecimal={false}
          hideControls
          thousandSeparator=","
          value={settings.budget}
          onChange={(budget) => onChange({ budget })}
        />
      )}
    </Stack>
  );
}

function Tools({ text, onChange }: { text: string; onChange: (text: string) => void }) {
  return (
    <Stack gap={4}>
      <Textarea
        label="Tools (JSON)"
        description="An array of objects with name and input_schema."
        autosize
        minRows={2}
        maxRows={16}
        spellCheck={false}
        styles={{ input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 12 } }}
        value={text}
        onChange={({ currentTarget }) => onChange(currentTarget.value)}
        error={readTools(text).fault}
      />
      {text.trim() === '' && (
        <Group>
          <ActionButton
            label="Insert example"
            variant="subtle"
            size="compact-xs"
            px={0}
            onClick={() => onChange(exampleTools)}
          />
        </Group>
      )}
    </Stack>
  );
}
