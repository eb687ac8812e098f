// Downloads a file of usage or costs: the browser saves it while it is made. The link of a mail has the parameters of its file.

import { Button, Checkbox, Group, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { useFilters } from '../../filters.ts';
import { useMe } from '../../me.tsx';
import { AccountSelect, useChoosesAccount } from '../../parts/fields.tsx';
import { Select } from '../../parts/later.tsx';
import { Icon } from '../../parts/link.tsx';
import { Hint, Section } from '../../parts/page.tsx';
import { useRange, useRangeText } from '../../parts/range.tsx';
import type { TimeRange } from '../../range.ts';
import { formatUtcDate, monthOptions } from '../../times.ts';
import { dimensionLabelsFor, formatLabels, kindLabels, optionsOf } from './words.ts';

const MONTHS = 24;
/** The value of the time range of the console, beside months. */
const RANGE = 'range';

export function Download() {
  const me = useMe();
  const { values: linked } = useFilters();
  const [kind, setKind] = useState(linked['kind'] ?? 'costs');
  const [format, setFormat] = useState(linked['format'] ?? 'csv');
  const [by, setBy] = useState<(string | null)[]>((linked['by'] ?? 'account,model').split(','));
  const [tagName, setTagName] = useState(linked['tag_name'] ?? '');
  const [hasBelow, setBelow] = useState(linked['below'] === 'true');
  const [account, setAccount] = useState(linked['account'] ?? '');
  const times = useTimes(linked);
  const [first = null, second = null] = by;
  const isByTag = kind === 'costs' && by.includes('tag');
  const isOfAccount = account !== '' || me.account !== null;
  const query = new URLSearchParams({
    ...{ kind, format },
    ...(kind === 'costs' && { by: by.filter(Boolean).join(',') }),
    ...(isByTag && { tag_name: tagName }),
    ...(account !== '' && { account }),
    ...(isOfAccount && hasBelow && { below: 'true' }),
    ...times.query,
  });
  return (
    <Section title="Download">
      <Stack>
        <Group align="flex-end" gap="sm">
          <Choice label="Content" value={kind} labels={kindLabels} onChange={setKind} />
          {kind === 'costs' && (
            <>
              <Choice
                label="Group by"
                value={first}
                labels={dimensionLabelsFor(me)}
                onChange={(value) => setBy([value, second])}
              />
              <Choice
                label="Then by"
                value={second}
                labels={withoutDimension(dimensionLabelsFor(me), first)}
                onChange={(value) => setBy([first, value])}
                isOptional
              />
            </>
          )}
          {isByTag && <TagName name={tagName} setName={setTagName} />}
          <Select
            label="Time (UTC)"
            data={times.options}
            value={times.chosen}
            onChange={(value) => times.choose(value ?? '')}
            allowDeselect={false}
          />
          <Choice label="Format" value={format} labels={formatLabels} onChange={setFormat} />
          <Accounts account={account} setAccount={setAccount} hasBelow={hasBelow} setBelow={setBelow} />
          <Button component="a" href={`/api/v1/exports/file?${query}`} download leftSection={<Icon name="download" />}>
            Download
          </Button>
        </Group>
        <Hint size="xs">
          Amounts match the statements of the same month. A large file takes minutes. The browser shows the progress.
        </Hint>
      </Stack>
    </Section>
  );
}

function TagName({ name, setName }: { name: string; setName: (name: string) => void }) {
  const onChange = ({ currentTarget }: { currentTarget: HTMLInputElement }) => setName(currentTarget.value);
  return <TextInput label="Tag name" value={name} onChange={onChange} error={name === ''} w={150} />;
}

interface AccountsProps {
  account: string;
  setAccount: (account: string) => void;
  hasBelow: boolean;
  setBelow: (hasBelow: boolean) => void;
}

function Accounts({ account, setAccount, hasBelow, setBelow }: AccountsProps) {
  const me = useMe();
  const choosesAccount = useChoosesAccount();
  return (
    <>
      {choosesAccount && (
        <AccountSelect
          label="Account"
          placeholder={me.account?.name ?? 'All accounts'}
          clearable
          value={account || null}
          onChange={(id) => setAccount(id ?? '')}
        />
      )}
      {(account !== '' || me.account !== null) && (
        <Checkbox
          label="Include sub-accounts"
          checked={hasBelow}
          onChange={({ currentTarget }) => setBelow(currentTarget.checked)}
          mb={8}
        />
      )}
    </>
  );
}

interface ChoiceProps {
  label: string;
  value: string | null;
  labels: Readonly<Record<string, string>>;
  onChange: (value: string) => void;
  isOptional?: boolean;
}

function Choice({ label, value, labels, onChange, isOptional = false }: ChoiceProps) {
  return (
    <Select
      label={label}
      data={optionsOf(labels)}
      value={value || null}
      onChange={(chosen) => onChange(chosen ?? '')}
      allowDeselect={isOptional}
      clearable={isOptional}
      w={150}
    />
  );
}

function withoutDimension(labels: Readonly<Record<string, string>>, chosen: string | null) {
  const { [chosen ?? '']: _, ...others } = labels;
  return others;
}

interface Times {
  /** The value of an option. */
  chosen: string;
  choose: (value: string) => void;
  options: { value: string; label: string }[];
  query: Record<string, string>;
}

/** Months, the time range of the console, and the times of the link. */
function useTimes(linked: Readonly<Record<string, string | undefined>>): Times {
  const range = useRange();
  const rangeText = useRangeText();
  const months = lastMonths();
  const { since, until = '' } = linked;
  const initial = linked['range'] === undefined ? (months[0]?.value ?? '') : RANGE;
  const [chosen, choose] = useState(since === undefined ? initial : '');
  const options = [{ value: RANGE, label: rangeText }, ...months];
  if (since !== undefined) options.unshift({ value: '', label: periodOf(linked) });
  const queries: Record<string, Record<string, string>> = {
    '': { since: since ?? '', until },
    [RANGE]: timesOf(range),
  };
  return { chosen, choose, options, query: queries[chosen] ?? { month: chosen } };
}

/** Files end before their `until`. */
function timesOf({ sinceMs, untilMs }: TimeRange): Record<string, string> {
  const iso = (ms: number) => new Date(ms).toISOString();
  return { since: iso(sinceMs), ...(untilMs !== null && { until: iso(untilMs) }) };
}

function lastMonths(): { value: string; label: string }[] {
  const now = new Date();
  const monthBefore = (before: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - before, 1));
  return monthOptions(Array.from({ length: MONTHS }, (_, before) => monthBefore(before).toISOString().slice(0, 7)));
}

function periodOf({ since = '', until = '' }: Readonly<Record<string, string | undefined>>): string {
  const last = new Date(Date.parse(until) - 1);
  return `${formatUtcDate(since)} to ${Number.isNaN(last.getTime()) ? until : formatUtcDate(last.toISOString())}`;
}
