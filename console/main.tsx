// The entry point in the browser: theme, router and queries.

import { MantineProvider } from '@mantine/core';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Navigate,
  RouterProvider,
  retainSearchParams,
} from '@tanstack/react-router';
import { lazy, StrictMode, Suspense, useLayoutEffect } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiFailure, loadPage } from './api.ts';
import { isSignInNeeded } from './me.tsx';
import { publicScreens, readingScreens, type Screen, screens } from './screens.ts';
import { FailedPage, NotFoundPage, PublicShell, ReadingShell, Shell } from './shell.tsx';
import { theme } from './theme.ts';
import { findTyped } from './typed-early.ts';

const root = createRootRoute({
  notFoundComponent: NotFoundPage,
  errorComponent: FailedPage,
  // Links and the navigation keep the time range of the page.
  search: { middlewares: [retainSearchParams<{ range?: string }>(['range'])] },
});
const inside = createRoute({ getParentRoute: () => root, id: 'inside', component: Shell, errorComponent: FailedPage });
const outside = createRoute({ getParentRoute: () => root, id: 'outside', component: PublicShell });
const reading = createRoute({ getParentRoute: () => root, id: 'reading', component: ReadingShell });

/** The page to which a failed single sign-on returns. Leads signed-in users to the overview. */
const signIn = createRoute({
  getParentRoute: () => inside,
  path: '/sign-in',
  component: () => <Navigate to="/" replace />,
});

function makeConsoleRouter() {
  const pages = screens.map((screen) => pageRoute(inside, screen));
  const open = publicScreens.map((screen) => pageRoute(outside, screen));
  const read = readingScreens.map((screen) => pageRoute(reading, screen));
  return createRouter({
    routeTree: root.addChildren([
      inside.addChildren([...pages, signIn]),
      outside.addChildren(open),
      reading.addChildren(read),
    ]),
    basepath: '/console',
    defaultPreload: 'intent',
    scrollRestoration: true,
    trailingSlash: 'never',
    // Filters are plain query parameters, so that addresses are readable.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const text = new URLSearchParams(Object.entries(search).filter(([, value]) => value !== undefined)).toString();
      return text === '' ? '' : `?${text}`;
    },
  });
}

function pageRoute(
  parent: typeof inside | typeof outside | typeof reading,
  { path, load }: Pick<Screen, 'path' | 'load'>,
) {
  return createRoute({
    getParentRoute: () => parent,
    path,
    component: lazyRouteComponent(async () => ({ Page: await loadPage(load) }), 'Page'),
    errorComponent: FailedPage,
  });
}

/** Shows also what was notified before it has loaded. */
const Notifications = lazy(async () => ({ default: (await import('./parts/notifications.ts')).Notifications }));

const TRIES_MAX = 2;

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (failure, { queryKey }) => queryKey[0] !== 'me' && checkSession(failure) }),
  mutationCache: new MutationCache({ onError: checkSession }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // Retries only temporary failures.
      retry: (count, failure) => count < TRIES_MAX && (!(failure instanceof ApiFailure) || failure.isTemporary),
    },
    mutations: { gcTime: 0 }, // discards form input, including passwords, when the form closes
  },
});
const router = makeConsoleRouter();
// The library that locks scrolling behind dialogs reads the style nonce from this global.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });

const place = document.getElementById('root');
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <Drawn />
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={styleNonce}>
        <Suspense>
          <Notifications position="top-right" />
        </Suspense>
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );

/**
 * Removes the frame that index.html draws: what it shows already stays over the page until that has its own content, but not for
 * long, unless something was typed into it.
 */
function Drawn() {
  useLayoutEffect(() => {
    const early = document.querySelector('.early');
    let sinceMs = performance.now();
    if (early?.querySelector('h1')) early.classList.add('early-cover');
    const look = () => {
      const typed = findTyped(early);
      if (!typed.isIn) early?.setAttribute('aria-hidden', 'true');
      if (isEmpty()) sinceMs = performance.now();
      const isReady = typed.isIn ? typed.isFound : isDrawn();
      const isLate = performance.now() - sinceMs > (typed.isIn ? COVERED_TYPED_MS_MAX : COVERED_MS_MAX);
      if (early?.classList.contains('early-cover') && !isReady && !isLate) return void requestAnimationFrame(look);
      typed.carry();
      early?.remove();
    };
    look();
  }, []);
  return null;
}

const COVERED_MS_MAX = 1_000;
const COVERED_TYPED_MS_MAX = 20_000;

/** Until the scripts of the page have loaded. */
function isEmpty(): boolean {
  return document.querySelector('#root :is(h1, h2, main, form, [role="alert"])') === null;
}

function isDrawn(): boolean {
  const root = document.getElementById('root');
  return root?.querySelector('h1') != null && root.querySelector('[aria-busy="true"]') === null;
}

/** Leads to sign-in if the session has ended, or to the set-up of a second factor, instead of an error in each part of the page. */
function checkSession(failure: unknown): void {
  if (isSignInNeeded(failure)) void queries.invalidateQueries({ queryKey: ['me'] });
}

/** The Content-Security-Policy rejects style elements without this nonce. */
function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
}
