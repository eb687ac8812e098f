// The choice of a grouping, and of the name of the tag to group by. The address keeps both.

import { Group } from '@mantine/core';
import { useFilters } from '../filters.ts';
import { type Grouping, groupingIn, groupingNoun } from '../groupings.ts';
import { TextFilter } from './fields.tsx';
import { Select } from './later.tsx';

interface GroupingSelectProps {
  labels: Readonly<Partial<Record<Grouping, string>>>;
  /** Applies if the address has none; null: the rows are not grouped then. */
  usual: Grouping | null;
}

export function GroupingSelect({ labels, usual }: GroupingSelectProps) {
  const { values, set } = useFilters();
  const grouping = groupingIn(values, labels) ?? usual;
  const names = Object.keys(labels) as Grouping[];
  const options = names.map((value) => ({ value, label: `By ${groupingNoun(value)}` }));
  return (
    <Group gap="xs">
      {grouping === 'tag' && (
        <TextFilter name="tag_name" aria-label="Tag name" placeholder="cost_centre" size="xs" w={150} />
      )}
      <Select
        aria-label="Group by"
        size="xs"
        w={170}
        data={usual === null ? [{ value: '', label: 'Not grouped' }, ...options] : options}
        value={grouping ?? ''}
        onChange={(name) => set({ group_by: name === usual ? null : name })}
        allowDeselect={false}
      />
    </Group>
  );
}
