// Chooses one of the installation's accounts by a part of its name. For operators and viewers.

import { Select, type SelectProps } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useState } from 'react';
import type { AccountShape, PageShape } from '../../src/admin-api/shapes.ts';
import { useAsk } from '../queries.ts';

const SHOWN_MAX = 50;
const TYPING_MS = 200;

interface AccountSelectProps extends Omit<SelectProps, 'data' | 'value' | 'onChange' | 'onSearchChange'> {
  /** Its id; null: none. */
  value: string | null;
  onChange: (id: string | null) => void;
}

export function AccountSelect({ value, onChange, ...select }: AccountSelectProps) {
  const [search, setSearch] = useState('');
  const [asked] = useDebouncedValue(search.trim(), TYPING_MS);
  const chosen = useAsk<AccountShape>(`/accounts/${value}`, {}, { isWanted: value !== null });
  const chosenName = value !== null && chosen.data?.id === value ? chosen.data.name : null;
  // The chosen one's name stands in the field, and is not what is being looked for.
  const name = asked === chosenName ? '' : asked;
  const found = useAsk<PageShape<AccountShape>>('/accounts', { limit: SHOWN_MAX, name });
  const options = (found.data?.data ?? []).map((account) => ({ value: account.id, label: account.name }));
  const isListed = value === null || options.some((option) => option.value === value);
  return (
    <Select
      searchable
      value={value}
      onChange={(id) => onChange(id)}
      onSearchChange={setSearch}
      filter={({ options: all }) => all}
      data={isListed || value === null ? options : [{ value, label: chosenName ?? value }, ...options]}
      {...select}
    />
  );
}
