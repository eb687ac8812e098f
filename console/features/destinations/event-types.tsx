// The choice of event types: all of them, or single ones and whole groups.

import { Alert, Badge, Box, Checkbox, Group, Radio, Stack, Text } from '@mantine/core';
import type { EventTypeShape } from '../../../src/admin-api/shapes.ts';
import { FailureNotice, Hint, Loading } from '../../parts/page.tsx';
import { useGet } from '../../queries.ts';
import { ALL, groupTypes, isChosen, type TypeGroup, toggleGroup, toggleType } from './type-patterns.ts';

interface EventTypesProps {
  patterns: readonly string[];
  onChange: (patterns: string[]) => void;
  /** The destination belongs to an account, which gets no events of the installation. */
  isOfAccount: boolean;
  error?: string | undefined;
}

export function EventTypes({ patterns, onChange, isOfAccount, error }: EventTypesProps) {
  const { data, error: failure, refetch } = useGet('/event-types');
  if (failure !== null) return <FailureNotice failure={failure} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  const isAll = patterns.includes(ALL);
  const groups = groupTypes(data.data.filter(({ audience }) => !isOfAccount || audience === 'account'));
  return (
    <Stack gap="sm">
      <Radio.Group
        label="Events"
        value={isAll ? 'all' : 'some'}
        onChange={(value) => onChange(value === 'all' ? [ALL] : [])}
      >
        <Group mt={4}>
          <Radio value="all" label="All, including types added in later versions" />
          <Radio value="some" label="Selected" />
        </Group>
      </Radio.Group>
      {!isAll && (
        <Box style={{ columns: '2 260px', columnGap: 24 }}>
          {groups.map((group) => (
            <Box key={group.pattern} pb="md" style={{ breakInside: 'avoid' }}>
              <GroupChoice group={group} patterns={patterns} onChange={onChange} />
            </Box>
          ))}
        </Box>
      )}
      {error !== undefined && (
        <Alert color="red" role="alert">
          {`Events: ${error}`}
        </Alert>
      )}
    </Stack>
  );
}

interface GroupChoiceProps extends Pick<EventTypesProps, 'patterns' | 'onChange'> {
  group: TypeGroup;
}

function GroupChoice({ group, patterns, onChange }: GroupChoiceProps) {
  const { types, label } = group;
  const [only] = types;
  if (types.length === 1 && only !== undefined)
    return (
      <TypeChoice one={only} patterns={patterns} onToggle={() => onChange(toggleType(patterns, group, only.type))} />
    );
  const count = types.filter(({ type }) => isChosen(patterns, type)).length;
  return (
    <Stack gap={6}>
      <Checkbox
        label={<Text fw={600} size="sm" component="span">{`${label}: all`}</Text>}
        checked={count === types.length}
        indeterminate={count > 0 && count < types.length}
        onChange={() => onChange(toggleGroup(patterns, group))}
      />
      <Stack gap={6} pl="lg">
        {types.map((one) => (
          <TypeChoice
            key={one.type}
            one={one}
            patterns={patterns}
            onToggle={() => onChange(toggleType(patterns, group, one.type))}
          />
        ))}
      </Stack>
    </Stack>
  );
}

interface TypeChoiceProps {
  one: EventTypeShape;
  patterns: readonly string[];
  onToggle: () => void;
}

function TypeChoice({ one, patterns, onToggle }: TypeChoiceProps) {
  return (
    <Checkbox label={one.title} description={one.type} checked={isChosen(patterns, one.type)} onChange={onToggle} />
  );
}

const FEW = 4;

/** The patterns of a destination in a line; `isWhole`: none is left out. */
export function TypeSummary({ patterns, isWhole = false }: { patterns: readonly string[]; isWhole?: boolean }) {
  if (patterns.includes(ALL)) return <Hint component="div">All events</Hint>;
  const shown = isWhole ? patterns : patterns.slice(0, FEW);
  return (
    <Group gap={4}>
      {shown.map((pattern) => (
        <Badge key={pattern} variant="default" fw={500}>
          {pattern}
        </Badge>
      ))}
      {patterns.length > shown.length && <Text size="xs">{`+${patterns.length - shown.length}`}</Text>}
    </Group>
  );
}
