// What is asked of the model beside the messages themselves.

import {
  Button,
  Card,
  Group,
  NumberInput,
  SegmentedControl,
  Select,
  Stack,
  Text,
  Textarea,
  Title,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Icon } from '../../parts/icon.tsx';
import { exampleTools, type PlaygroundSettings, readTools } from '../../playground-request.ts';
import { words } from '../../words.ts';

const its = words.playground;

interface SettingsPanelProps {
  settings: PlaygroundSettings;
  models: readonly string[];
  onChange: (changes: Partial<PlaygroundSettings>) => void;
}

export function SettingsPanel({ settings, models, onChange }: SettingsPanelProps) {
  // Where the conversation stands below, it is not to begin a page further down.
  const [isOpen, more] = useDisclosure(false);
  return (
    <Card withBorder p="md">
      <Title order={2} size="h5" mb="xs">
        {its.settings}
      </Title>
      <Stack gap="sm">
        <Select
          label={its.model}
          searchable
          allowDeselect={false}
          data={[...models]}
          value={settings.model || null}
          onChange={(model) => onChange({ model: model ?? '' })}
          nothingFoundMessage={its.noModels}
        />
        <Button
          hiddenFrom="lg"
          variant="subtle"
          size="compact-sm"
          onClick={more.toggle}
          aria-expanded={isOpen}
          leftSection={<Icon name="sliders" sizePx={16} />}
        >
          {isOpen ? its.fewerSettings : its.moreSettings}
        </Button>
        <Stack gap="sm" {...(!isOpen && { visibleFrom: 'lg' })}>
          <Textarea
            label={its.system}
            autosize
            minRows={2}
            maxRows={8}
            value={settings.system}
            onChange={({ currentTarget }) => onChange({ system: currentTarget.value })}
          />
          <Group grow align="flex-start">
            <NumberInput
              label={its.maxTokens}
              min={1}
              allowDecimal={false}
              hideControls
              thousandSeparator=","
              value={settings.maxTokens}
              onChange={(maxTokens) => onChange({ maxTokens })}
            />
            <NumberInput
              label={its.temperature}
              placeholder={its.temperatureHint}
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
      </Stack>
    </Card>
  );
}

function Thinking({ settings, onChange }: Omit<SettingsPanelProps, 'models'>) {
  return (
    <Stack gap="xs">
      <Text size="sm" fw={500} id="playground-thinking">
        {its.thinking}
      </Text>
      <SegmentedControl
        size="xs"
        aria-labelledby="playground-thinking"
        value={settings.thinking}
        onChange={(thinking) => onChange({ thinking: thinking as PlaygroundSettings['thinking'] })}
        data={Object.entries(its.thinkings).map(([value, label]) => ({ value, label }))}
      />
      {settings.thinking === 'budget' && (
        <NumberInput
          label={its.budget}
          description={its.budgetHint}
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
        label={its.tools}
        description={its.toolsHint}
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
          <Button variant="subtle" size="compact-xs" px={0} onClick={() => onChange(exampleTools)}>
            {its.toolsExample}
          </Button>
        </Group>
      )}
    </Stack>
  );
}
