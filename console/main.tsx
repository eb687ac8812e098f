// Where the console begins in the browser: its look, its requests, its table of pages.

import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { MutationCache, QueryCache, QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiFailure } from './api.ts';
import { makeConsoleRouter } from './router.tsx';
import { theme } from './theme.ts';

const TRIES_MAX = 2;

const queries: QueryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (failure, { queryKey }) => queryKey[0] !== 'me' && lookWhoAsks(failure) }),
  mutationCache: new MutationCache({ onError: lookWhoAsks }),
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // What the service refuses it refuses again; what it cannot do right now may be asked once more.
      retry: (count, failure) => count < TRIES_MAX && (!(failure instanceof ApiFailure) || failure.mayPass),
    },
    mutations: { gcTime: 0 }, // what was typed, passwords too, is not kept when its form is gone
  },
});
const router = makeConsoleRouter();
// Dialogues keep the page behind them still by a style element of another library, which looks for the nonce here.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() });

const place = document.getElementById('root');
if (place !== null)
  createRoot(place).render(
    <StrictMode>
      <MantineProvider theme={theme} defaultColorScheme="auto" getStyleNonce={styleNonce}>
        <Notifications position="top-right" />
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </MantineProvider>
    </StrictMode>,
  );

/** A session that has ended elsewhere: whoever looks is asked to sign in, not told so by each part of a page. */
function lookWhoAsks(failure: unknown): void {
  if (failure instanceof ApiFailure && ['token_missing', 'token_invalid'].includes(failure.code))
    void queries.invalidateQueries({ queryKey: ['me'] });
}

/** Style elements without it are refused by the page's Content-Security-Policy. */
function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';
}
