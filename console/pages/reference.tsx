// The API reference: what a key can ask in short, and every operation of the admin API out of its own description. An
// operation has its own address: "#key-create".

import { SegmentedControl, Stack } from '@mantine/core';
import { useLocation } from '@tanstack/react-router';
import { useFilters } from '../filters.ts';
import { PageHead } from '../parts/page-head.tsx';
import { words } from '../words.ts';
import { AdminReference } from './reference-admin.tsx';
import { PublicReference } from './reference-public.tsx';

const { reference } = words;

export function Reference() {
  const filters = useFilters();
  const { hash } = useLocation();
  const which = filters.values['api'] ?? (hash === '' && filters.values['search'] === undefined ? 'public' : 'admin');
  return (
    <>
      <PageHead
        title={reference.title}
        text={reference.text}
        actions={
          <SegmentedControl
            aria-label={reference.which}
            value={which}
            onChange={(api) => filters.set({ api, search: null })}
            data={[
              { value: 'public', label: reference.public },
              { value: 'admin', label: reference.admin },
            ]}
          />
        }
      />
      <Stack>{which === 'admin' ? <AdminReference openedId={hash} /> : <PublicReference />}</Stack>
    </>
  );
}
