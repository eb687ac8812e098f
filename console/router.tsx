// Makes the router of the table of pages.

import { createRootRoute, createRoute, createRouter, lazyRouteComponent } from '@tanstack/react-router';
import { loadPage } from './load-page.ts';
import { openScreens, type Screen, screens } from './screens.ts';
import { FailedPage, LostPage, OpenShell, Shell } from './shell.tsx';

const root = createRootRoute({ notFoundComponent: LostPage, errorComponent: FailedPage });
const inside = createRoute({ getParentRoute: () => root, id: 'inside', component: Shell, errorComponent: FailedPage });
const outside = createRoute({ getParentRoute: () => root, id: 'outside', component: OpenShell });

export function makeConsoleRouter() {
  const pages = screens.map((screen) => pageRoute(inside, screen));
  const open = openScreens.map((screen) => pageRoute(outside, screen));
  return createRouter({
    routeTree: root.addChildren([inside.addChildren(pages), outside.addChildren(open)]),
    basepath: '/console',
    defaultPreload: 'intent',
    scrollRestoration: true,
    trailingSlash: 'never',
    // Filters stand in the address as they are, so that an address can be read, typed and sent to somebody.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const text = new URLSearchParams(Object.entries(search).filter(([, value]) => value !== undefined)).toString();
      return text === '' ? '' : `?${text}`;
    },
  });
}

function pageRoute(parent: typeof inside | typeof outside, { path, load }: Pick<Screen, 'path' | 'load'>) {
  return createRoute({
    getParentRoute: () => parent,
    path,
    component: lazyRouteComponent(async () => ({ Page: await loadPage(load) }), 'Page'),
    errorComponent: FailedPage,
  });
}
