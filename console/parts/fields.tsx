// Fields that several pages use: a choice of an account by part of its name, and filters that the address keeps.

import {
  Box,
  Group,
  type MantineSpacing,
  type MultiSelectProps,
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
import { useGet } from '../queries.ts';
import { tagsOf, tagTexts } from '../tags.ts';
import { type FoundBy, type FoundOption, foundAccounts, SEARCH_MS } from './found.ts';
import { MultiSelect, Select, TagsInput } from './later.tsx';
import { ActionButton, Icon } from './link.tsx';
import { Hint } from './page.tsx';
import { SavedViews } from './saved-views.tsx';

interface FoundSelectProps extends Omit<SelectProps, 'data' | 'value' | 'onChange' | 'onSearchChange'> {
  /** The id of the chosen object, or null. */
  value: string | null;
  onChange: (id: string | null) => void;
  /** Options besides the objects, above them. */
  first?: readonly FoundOption[];
  /** Arranges the options in groups. */
  arrange?: (options: FoundOption[]) => Required<SelectProps>['data'];
}

/** A choice of one object, which the service searches. */
export function FoundSelect({
  value,
  onChange,
  found: { useNameOf, useFound },
  first = [],
  arrange = (options) => options,
  ...select
}: FoundSelectProps & { found: FoundBy }) {
  const [search, setSearch] = useState('');
  const [asked] = useDebouncedValue(search.trim(), SEARCH_MS);
  const fixed = first.find((option) => option.value === value);
  const chosenName = useNameOf(fixed === undefined ? value : null);
  const shownName = fixed?.label ?? chosenName;
  // The field shows the name of the selected object, which is not a search text.
  const text = asked === shownName ? '' : asked;
  const { options: found, isCurrent } = useFound(text);
  const options = [...first.filter(({ label }) => label.toLowerCase().includes(text.toLowerCase())), ...found];
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
      data={arrange(isListed || value === null ? options : [{ value, label: shownName ?? value }, ...options])}
      {...select}
    />
  );
}

/** The properties of a field with several values, whose options the service searches. */
function useFoundOptions({ useFound }: FoundBy, chosen: readonly string[] = []) {
  const [searchValue, onSearchChange] = useState('');
  const [asked] = useDebouncedValue(searchValue.trim(), SEARCH_MS);
  const names = useFound(asked).options.map(({ value }) => value);
  return { searchValue, onSearchChange, data: [...new Set([...names, ...chosen])] };
}

/** A choice of several objects that a name identifies. */
export function FoundMultiSelect({ found, ...select }: MultiSelectProps & { found: FoundBy }) {
  const of = useFoundOptions(found, select.value);
  return <MultiSelect searchable hidePickedOptions {...of} {...select} />;
}

/** Names of objects, or patterns of them; the `first` ones are always offered. */
export function FoundTagsInput({ found, first = [], ...input }: TagsInputProps & { found: FoundBy; first?: string[] }) {
  const { data, ...of } = useFoundOptions(found);
  return <TagsInput {...of} data={[...first, ...data]} {...input} />;
}

export function AccountSelect(select: FoundSelectProps) {
  return <FoundSelect {...select} found={foundAccounts} />;
}

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

/** A filter by an object that the service searches. */
export function FoundFilter({ name, also, found, ...select }: FieldOf<SelectProps> & { found: FoundBy }) {
  const { values, set } = useFilters();
  return (
    <FoundSelect
      placeholder="All"
      clearable
      w={220}
      {...select}
      found={found}
      value={values[name] ?? null}
      onChange={(id) => set({ [name]: id, ...also })}
    />
  );
}

/** For those who see several accounts. */
export function AccountFilter(select: FieldOf<SelectProps>) {
  return useChoosesAccount() && <FoundFilter label="Account" found={foundAccounts} {...select} />;
}
