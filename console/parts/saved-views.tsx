// The button of the saved views of a page, whose menu loads after the first content of the page.

import { lazy, Suspense } from 'react';
import { loadPage } from '../api.ts';
import { ActionButton } from './link.tsx';

const ViewsMenu = lazy(async () => ({ default: (await loadPage(() => import('./views-menu.tsx'))).ViewsMenu }));

export function SavedViews() {
  return (
    <Suspense fallback={<ActionButton label="Views" icon="layers" size="sm" disabled />}>
      <ViewsMenu />
    </Suspense>
  );
}
