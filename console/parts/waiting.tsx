// What stands where something is still being fetched.

import { Skeleton, Stack, VisuallyHidden } from '@mantine/core';
import { words } from '../words.ts';

export function Waiting({ rowCount = 5 }: { rowCount?: number }) {
  return (
    <Stack gap="sm" p="md" aria-busy="true">
      <VisuallyHidden>{words.loading}</VisuallyHidden>
      {Array.from({ length: rowCount }, (_, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same and stay where they are
        <Skeleton key={at} height={at === 0 ? 28 : 18} width={at === 0 ? '40%' : '100%'} />
      ))}
    </Stack>
  );
}
