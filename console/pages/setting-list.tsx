// Every setting of the service in words, by what it is about: what is in force, what the default is, what was changed.
// Operators change them in place, and see first what will change.

import { Badge, Code, Group, Stack, Switch, Table, Text, TextInput } from '@mantine/core';
import type { SettingShape } from '../../src/admin-api/shapes.ts';
import { useFilters } from '../filters.ts';
import { useMe } from '../me.tsx';
import { EmptyState } from '../parts/empty-state.tsx';
import { FailureNotice } from '../parts/failure-notice.tsx';
import { Icon } from '../parts/icon.tsx';
import { PageHead } from '../parts/page-head.tsx';
import { Section } from '../parts/section.tsx';
import { Waiting } from '../parts/waiting.tsx';
import { useAsk } from '../queries.ts';
import { type SettingSection, settingSection, settingText, shownSetting } from '../setting-values.ts';
import { words } from '../words.ts';
import { SettingEditor } from './catalogue/setting-editor.tsx';

export function SettingList() {
  const { data, error, refetch } = useAsk<{ data: SettingShape[] }>('/settings');
  const { values, set } = useFilters();
  const wanted = (values['search'] ?? '').toLowerCase();
  const isChangedOnly = values['changed'] === 'true';
  const shown = (data?.data ?? []).filter(
    (setting) =>
      (setting.name.includes(wanted) || setting.description.toLowerCase().includes(wanted)) &&
      (!isChangedOnly || setting.origin !== null),
  );
  const sections = Object.keys(words.settings.sections) as SettingSection[];
  return (
    <>
      <PageHead title={words.settings.title} text={words.settings.text} />
      <Stack>
        <Group align="flex-end" gap="lg">
          <TextInput
            type="search"
            label={words.settings.search}
            leftSection={<Icon name="search" />}
            value={values['search'] ?? ''}
            onChange={({ currentTarget }) => set({ search: currentTarget.value })}
            w={260}
          />
          <Switch
            label={words.settings.changedOnly}
            checked={isChangedOnly}
            onChange={({ currentTarget }) => set({ changed: currentTarget.checked ? 'true' : null })}
            pb={8}
          />
        </Group>
        <FailureNotice failure={error} onRetry={() => void refetch()} />
        {data === undefined && error === null && <Waiting />}
        {data !== undefined && shown.length === 0 && (
          <EmptyState icon="sliders" title={words.settings.notFound} text={words.settings.notFoundText} />
        )}
        {sections.map((section) => (
          <SettingSectionCard
            key={section}
            section={section}
            settings={shown.filter((setting) => settingSection(setting) === section)}
          />
        ))}
        <Environment />
      </Stack>
    </>
  );
}

function SettingSectionCard({ section, settings }: { section: SettingSection; settings: readonly SettingShape[] }) {
  const { role } = useMe();
  if (settings.length === 0) return null;
  return (
    <Section title={words.settings.sections[section]}>
      {settings.map((setting) => (
        <Group
          key={setting.name}
          justify="space-between"
          align="flex-start"
          gap="xs"
          pt="xs"
          style={{ borderTop: '1px solid var(--mantine-color-default-border)' }}
        >
          <Stack gap={2} style={{ flex: '1 1 320px' }} miw={0}>
            <Group gap="xs">
              <Code>{setting.name}</Code>
              {setting.origin !== null && (
                <Badge variant="light" tt="none" color="blue">
                  {words.settings.changed}
                </Badge>
              )}
            </Group>
            <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
              {settingText(setting)}
            </Text>
          </Stack>
          <Stack gap={2} align="flex-end" ml="auto" style={{ flex: '0 1 260px' }}>
            <Text size="sm" fw={600} ta="right" style={{ overflowWrap: 'anywhere' }}>
              {shownSetting(setting, setting.value)}
            </Text>
            {setting.origin !== null && (
              <Text size="xs" c="dimmed" ta="right">
                {words.settings.default(shownSetting(setting, setting.default))}
              </Text>
            )}
            {role === 'operator' && <SettingEditor setting={setting} />}
          </Stack>
        </Group>
      ))}
    </Section>
  );
}

/** What is no setting of the installation, but of one process of it. */
function Environment() {
  return (
    <Section title={words.settings.environment} text={words.settings.environmentText} isPadded={false}>
      <Table.ScrollContainer minWidth={0}>
        <Table fz="sm" horizontalSpacing="md" aria-label={words.settings.environment}>
          <Table.Tbody>
            {words.settings.environmentRows.map(([variable, flag, text]) => (
              <Table.Tr key={variable}>
                <Table.Td>
                  <Code style={{ overflowWrap: 'anywhere' }}>{variable}</Code>
                </Table.Td>
                <Table.Td visibleFrom="sm">{flag !== '' && <Code>{flag}</Code>}</Table.Td>
                <Table.Td>{text}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Section>
  );
}
