// All settings by section: name, value, unit, default, and whether the value was modified.

import { Accordion, Badge, Code, Group, Image, Stack, Switch, Text } from '@mantine/core';
import type { SettingShape } from '../../../src/admin-api/shapes.ts';
import { useFilters } from '../../filters.ts';
import { useMe } from '../../me.tsx';
import { PlainTable } from '../../parts/data-table.tsx';
import { FilterBar, SearchFilter } from '../../parts/fields.tsx';
import { EmptyState, FailureNotice, Hint, Loading, PageHead, Section } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { SettingEditor } from './editor.tsx';
import {
  advancedSections,
  type SettingSection,
  sectionTitles,
  settingName,
  settingOrigin,
  settingPage,
  settingSection,
  settingText,
  shownSetting,
} from './values.ts';

const environmentRows = [
  ['TURNPIKE_LISTEN', '--listen', 'Address of the public API'],
  ['TURNPIKE_ADMIN_LISTEN', '--admin-listen', 'Address of the admin API; overrides admin_listen'],
  ['TURNPIKE_DATA', '--data', 'Data directory'],
  ['TURNPIKE_DATABASE_URL', '--database', 'PostgreSQL database, instead of SQLite in the data directory'],
  ['TURNPIKE_SECRET', '', 'Encrypts provider credentials and hashes API keys'],
  ['TURNPIKE_TRUSTED_PROXIES', '', 'Proxies whose x-forwarded-for header is trusted'],
  ['TURNPIKE_PUBLIC_URL', '', 'Public address of this service'],
  ['TURNPIKE_OIDC_…', '', 'Single sign-on provider'],
  ['TURNPIKE_LOG', '', 'Log format'],
];

export function SettingList() {
  const { data, error, refetch } = useGet('/settings');
  const { values, set } = useFilters();
  const wanted = (values['search'] ?? '').toLowerCase();
  const isChangedOnly = values['changed'] === 'true';
  const shown = (data?.data ?? []).filter(
    (setting) =>
      [setting.name, settingName(setting).toLowerCase(), setting.description.toLowerCase()].some((text) =>
        text.includes(wanted),
      ) &&
      (!isChangedOnly || setting.origin !== null),
  );
  const isSearch = wanted !== '' || isChangedOnly;
  const isShown = (section: SettingSection) => shown.some((setting) => settingSection(setting) === section);
  const sections = (Object.keys(sectionTitles) as SettingSection[]).filter(isShown);
  const basic = sections.filter((section) => !advancedSections.includes(section));
  const advanced = sections.filter((section) => advancedSections.includes(section));
  const card = (section: SettingSection) => (
    <SettingSectionCard
      key={section}
      section={section}
      settings={shown.filter((setting) => settingSection(setting) === section)}
    />
  );
  return (
    <>
      <PageHead title="Settings" text="Changes apply immediately to new requests, and not to running ones." />
      <Stack>
        <FilterBar mb={0}>
          <SearchFilter name="search" label="Setting" />
          <Switch
            label="Modified only"
            checked={isChangedOnly}
            onChange={({ currentTarget }) => set({ changed: currentTarget.checked ? 'true' : null })}
            pb={8}
          />
        </FilterBar>
        <FailureNotice failure={error} onRetry={() => void refetch()} />
        {data === undefined && error === null && <Loading />}
        {data !== undefined && shown.length === 0 && (
          <EmptyState
            icon="sliders"
            title="No matching settings"
            text="Change the search text, or show all settings."
          />
        )}
        {basic.map(card)}
        {isSearch ? (
          advanced.map(card)
        ) : (
          <Accordion variant="separated" chevronPosition="left">
            <Accordion.Item value="advanced">
              <Accordion.Control>
                <Text fw={600}>Advanced</Text>
                <Hint size="xs">{advanced.map((section) => sectionTitles[section]).join(', ')}, Environment</Hint>
              </Accordion.Control>
              <Accordion.Panel>
                <Stack>
                  {advanced.map(card)}
                  <Environment />
                </Stack>
              </Accordion.Panel>
            </Accordion.Item>
          </Accordion>
        )}
      </Stack>
    </>
  );
}

function SettingSectionCard({ section, settings }: { section: SettingSection; settings: readonly SettingShape[] }) {
  const { role } = useMe();
  if (settings.length === 0) return null;
  return (
    <Section title={sectionTitles[section]}>
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
              <Text size="sm" fw={600}>
                {settingName(setting)}
              </Text>
              <Code fz="xs" c="dimmed" className="wrap">
                {setting.name}
              </Code>
              {setting.origin !== null && <Badge color="blue">Modified</Badge>}
            </Group>
            <Hint className="wrap">{settingText(setting)}</Hint>
            <Hint size="xs">
              {setting.origin !== null && `${settingOrigin(setting.origin)} · `}
              <Code fz="xs">{settingPage(setting)}</Code>
            </Hint>
          </Stack>
          <Stack gap={2} align="flex-end" ml="auto" style={{ flex: '0 1 260px' }}>
            <SettingValue setting={setting} />
            <Hint size="xs" ta="right">
              {`Default: ${shownSetting(setting, setting.default)}`}
            </Hint>
            {role === 'operator' && <SettingEditor setting={setting} />}
          </Stack>
        </Group>
      ))}
    </Section>
  );
}

function SettingValue({ setting }: { setting: SettingShape }) {
  if (setting.name === 'installation_logo' && typeof setting.value === 'string')
    return <Image src={setting.value} alt="Logo" h={28} w="auto" maw={120} fit="contain" />;
  return (
    <Text size="sm" fw={600} ta="right" className="wrap" lineClamp={6} style={{ whiteSpace: 'pre-line' }}>
      {shownSetting(setting, setting.value)}
    </Text>
  );
}

/** The settings of a process, as opposed to those of the installation. */
function Environment() {
  return (
    <Section
      title="Environment"
      text="Flags and environment variables of each process. A change needs a restart. See docs/configuration.md."
      isPadded={false}
    >
      <PlainTable
        label="Environment"
        isFolding
        rows={environmentRows}
        keyOf={([variable = '']) => variable}
        columns={[
          { name: 'variable', label: 'Variable', show: ([variable]) => <Code className="wrap">{variable}</Code> },
          { name: 'flag', label: 'Flag', from: 'sm', show: ([, flag]) => flag !== '' && <Code>{flag}</Code> },
          { name: 'text', label: 'Description', show: ([, , text]) => text },
        ]}
      />
    </Section>
  );
}
