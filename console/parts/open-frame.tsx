// The frame of pages for whoever is not signed in: one narrow column under the product's sign.

import { Center, Stack } from '@mantine/core';
import type { ReactNode } from 'react';
import { Mark } from './mark.tsx';

export function OpenFrame({ children }: { children: ReactNode }) {
  return (
    <Center mih="100dvh" p="md" component="main" id="content">
      <Stack w="100%" maw={420} gap="lg">
        <Center>
          <Mark />
        </Center>
        {children}
      </Stack>
    </Center>
  );
}
