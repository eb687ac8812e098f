// Fields that several pages use: a choice of an account by part of its name, and filters that the address keeps.

import {
  Box,
  Group,
  type MantineSpacing,
  type SelectProps,
  Stack,
  type TagsInputProps,
  TextInput,
  type TextInputProps,
} from '@mantine/core';
import { useDebouncedCallback, useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { countFilters, useFilters } from '../filters.ts';
import { seesInstallation, useMe } from '../me.tsx';
import { useActors } from '../names.ts';
import { useGet } from '../queries.ts';
import { tagsOf, tagTexts } from '../tags.ts';
import { Select, TagsInput } from './later.tsx';
import { ActionButton, Icon } from './link.tsx';
import { Hint } from './page.tsx';
import { SavedViews } from './saved-views.tsx';

const SHOWN_MAX = 50;
export const SEARCH_MS = 200;

interface Found {
  options: { value: string; label: string; note?: string }[];
  /** Whether they are those of the text, not of an earlier one. */
  isCurrent: boolean;
}

interface FoundSelectProps extends Omit<SelectProps, 'data' | 'value' | 'onChange' | 'onSearchChange'> {
  /** The id of the chosen object, or null. */
  value: string | null;
  onChange: (id: string | null) => void;
}

export interface FoundBy {
  /** The name of an object; null while it is unknown. */
  useNameOf: (id: string | null) => string | null;
  /** The objects whose names have the text, as the service finds them. */
  useFound: (text: string) => Found;
}

function FoundSelect({ value, onChange, useNameOf, useFound, ...select }: FoundSelectProps & FoundBy) {
  const [search, setSearch] = useState('');
  const [asked] = useDebouncedValue(search.trim(), SEARCH_MS);
  const chosenName = useNameOf(value);
  // The field shows the name of the selected object, which is not a search text.
  const { options, isCurrent } = useFound(asked === chosenName ? '' : asked);
  const isListed = value === null || options.some((option) => option.value === value);
  const notes = new Map(options.map((option) => [option.value, option.note]));
  return (
    <Select
      searchable
      // The Enter key selects the first option, so it must not select one of an earlier search.
      selectFirstOptionOnChange={isCurrent && asked === search.trim()}
      value={value}
      onChange={(id) => onChange(id)}
      onSearchChange={setSearch}
      filter={({ options: all }) => all}
      nothingFoundMessage={isCurrent ? 'Nothing found' : 'Loading…'}
      renderOption={({ option }) => (
        <Stack gap={0} miw={0}>
          <span>{option.label}</span>
          {notes.get(option.value) !== undefined && <Hint size="xs">{notes.get(option.value)}</Hint>}
        </Stack>
      )}
      data={isListed || value === null ? options : [{ value, label: chosenName ?? value }, ...options]}
      {...select}
    />
  );
}

export const foundAccounts: FoundBy = {
  useNameOf(id) {
    const { data } = useGet('/accounts/{id}', { id: id ?? undefined, isEnabled: id !== null });
    return id !== null && data?.id === id ? data.name : null;
  },
  useFound(name) {
    const { data, isPlaceholderData } = useGet('/accounts', { query: { limit: SHOWN_MAX, name } });
    const options = (data?.data ?? []).map((account) => ({ value: account.id, label: account.name }));
    return { options, isCurrent: data !== undefined && !isPlaceholderData };
  },
};

export function AccountSelect(select: FoundSelectProps) {
  return <FoundSelect {...select} {...foundAccounts} />;
}

/** The keys of an account; empty: of all. */
export function foundKeys(account: string): FoundBy {
  return {
    useNameOf(id) {
      const { data } = useGet('/keys/{id}', { id: id ?? undefined, isEnabled: id !== null });
      return id !== null && data?.id === id ? data.name || data.prefix : null;
    },
    useFound(search) {
      const query = { limit: SHOWN_MAX, account, search };
      const { data, isPlaceholderData } = useGet('/keys', { query });
      const options = (data?.data ?? []).map(({ id, name, prefix }) => ({
        value: id,
        label: name || prefix,
        note: `${prefix}…`,
      }));
      return { options, isCurrent: data !== undefined && !isPlaceholderData };
    },
  };
}

export const foundPeople: FoundBy = {
  useNameOf: (id) => useActors([id])(id),
  useFound(text) {
    const { data, isPlaceholderData } = useGet('/search', { query: { text }, isEnabled: text !== '' });
    const people = text === '' ? [] : (data?.people ?? []);
    const options = people.map(({ id, name, email }) => ({ value: id, label: name || email || id, note: email ?? id }));
    return { options, isCurrent: text === '' || (data !== undefined && !isPlaceholderData) };
  },
};

/** Fixed tags, as texts such as "cost_centre=4711". */
export function TagsField({ onChange, ...input }: TagsInputProps) {
  return (
    <TagsInput
      label="Tags"
      description="For reports: a name and a value, such as cost_centre=4711. Press Enter to add one."
      acceptValueOnBlur
      isDuplicate={() => false}
      {...input}
      onChange={(texts) => onChange?.(tagTexts(tagsOf(texts)))}
    />
  );
}

interface FilterBarProps {
  children: ReactNode;
  mb?: MantineSpacing | number;
}

/** The filters of a list. On phones a button opens them. */
export function FilterBar({ children, mb = 'md' }: FilterBarProps) {
  const count = countFilters(useFilters().values);
  const [isOpen, opened] = useDisclosure(false);
  const id = useId();
  return (
    <Box mb={mb} className="no-print" role="search" aria-label="Filters">
      <ActionButton
        label={count === 0 ? 'Filters' : `Filters (${count})`}
        icon="sliders"
        hiddenFrom="sm"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={opened.toggle}
        mb={isOpen ? 'sm' : 0}
      />
      <div id={id} {...(!isOpen && { className: 'closed-on-phones' })}>
        <Group align="flex-end" gap="sm">
          {children}
          <SavedViews />
        </Group>
      </div>
    </Box>
  );
}

const TYPING_MS = 400;

/** The parameter of the address that a filter keeps its value in. */
interface Filter {
  name: string;
  /** Parameters to change at the same time. */
  also?: Record<string, string | null>;
}

type FieldOf<Props> = Filter & Omit<Props, 'name' | 'data' | 'value' | 'onChange'>;

/** Updates the address after a pause in typing, and follows changes of the address. */
export function TextFilter({ name, also, ...input }: FieldOf<TextInputProps>) {
  const { values, set } = useFilters();
  const value = values[name] ?? '';
  const [text, setText] = useState(value);
  const sent = useRef(value);
  const send = useDebouncedCallback((next: string) => {
    sent.current = next;
    set({ [name]: next, ...also });
  }, TYPING_MS);
  useEffect(() => {
    if (value === sent.current) return;
    sent.current = value;
    setText(value);
  }, [value]);
  const type = (next: string) => {
    setText(next);
    send(next.trim());
  };
  return <TextInput w={220} {...input} value={text} onChange={(event) => type(event.currentTarget.value)} />;
}

export function SearchFilter(search: FieldOf<TextInputProps>) {
  return <TextFilter type="search" leftSection={<Icon name="search" />} {...search} />;
}

export function SelectFilter({
  name,
  also,
  data,
  ...select
}: FieldOf<SelectProps> & Required<Pick<SelectProps, 'data'>>) {
  const { values, set } = useFilters();
  return (
    <Select
      placeholder="All"
      clearable
      searchable
      w={180}
      {...select}
      data={data}
      value={values[name] ?? null}
      onChange={(value) => set({ [name]: value, ...also })}
    />
  );
}

/** Whether the user sees several accounts: everyone of the installation does, and owners with accounts below theirs. */
export function useChoosesAccount(): boolean {
  const me = useMe();
  const { data } = useGet('/accounts', { query: { limit: 2 }, isEnabled: me.role === 'owner' });
  return seesInstallation(me) || (data?.data.length ?? 0) > 1;
}

/** For those who see several accounts. */
export function AccountFilter({ name, also, ...select }: FieldOf<SelectProps>) {
  const { values, set } = useFilters();
  if (!useChoosesAccount()) return null;
  return (
    <AccountSelect
      label="Account"
      placeholder="All"
      clearable
      w={220}
      {...select}
      value={values[name] ?? null}
      onChange={(account) => set({ [name]: account, ...also })}
    />
  );
}
