// Pages whose first content needs no data, rendered to HTML when the console is built: first-content.ts draws them before the
// libraries load. Not part of the console's scripts.

import { Box, MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import type { MeShape } from '../src/admin-api/shapes.ts';
import { firstPages } from './first-table.ts';
import { MeGate } from './me.tsx';
import { type Screen, screens } from './screens.ts';
import { theme } from './theme.ts';

/** Those that need no data of the service, by path and role. */
export async function renderFirstPages(): Promise<Record<string, Record<string, string>>> {
  standInForBrowser();
  const drawn: Record<string, Record<string, string>> = {};
  for (const { path, roles, load } of screens) {
    if (firstPages[path] === undefined || firstPages[path].path !== undefined) continue;
    const Page = await load();
    for (const role of roles) await render(Page, path, role); // loads the parts that load on demand
    const texts = await Promise.all(roles.map(async (role) => [role, await render(Page, path, role)] as const));
    drawn[path] = Object.fromEntries(texts);
  }
  return drawn;
}

async function render(Page: ComponentType, path: string, role: Screen['roles'][number]): Promise<string> {
  const queries = new QueryClient();
  queries.setQueryData(['me'], nobodyAs(role));
  const component = () => (
    <MeGate signIn={null}>
      <Box maw={1320} mx="auto">
        <Page />
      </Box>
    </MeGate>
  );
  const routeTree = createRootRoute({ component });
  const history = createMemoryHistory({ initialEntries: [`/console${path}`] });
  const router = createRouter({ routeTree, history, basepath: '/console', isServer: true });
  await router.load();
  const html = renderToStaticMarkup(
    <MantineProvider theme={theme}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return withoutActions(html);
}

/** A user of the role, of whom a page says nothing. */
function nobodyAs(role: Screen['roles'][number]): Partial<MeShape> {
  const isHolder = role === 'owner' || role === 'member';
  const account = { id: '', name: '', groups: [] } as unknown as MeShape['account'];
  return { kind: 'person', role, account: isHolder ? account : null, hidden: [] };
}

/** Buttons and lists of options do nothing until the page is drawn, and neither does the Enter key. Styles wait for the script: see first-content.ts. */
function withoutActions(html: string): string {
  return html
    .replace(/<(\/?)form\b/g, '<$1div')
    .replace(/<(button|input(?=[^>]* aria-haspopup))\b(?![^>]* disabled)/g, '<$1 disabled=""')
    .replace(/ style="/g, ' data-style="');
}

/** What modules and pages read of the browser while they are rendered. Nothing is requested. */
function standInForBrowser(): void {
  const location = { origin: '', pathname: '/', search: '', href: 'http://turnpike.invalid/' };
  Object.assign(globalThis, { window: { location }, location });
}
