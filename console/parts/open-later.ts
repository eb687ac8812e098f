// Opens a part that has just loaded once it is in the page, so that focus returns to the right element when it closes.

import { type RefObject, useEffect, useRef, useState } from 'react';

interface OpenedLater {
  isReady: boolean;
  /** Contains the button that opens the part, which replaces one that had the focus. */
  place: RefObject<HTMLSpanElement | null>;
}

export function useOpenLater(): OpenedLater {
  const place = useRef<HTMLSpanElement>(null);
  const [isReady, setReady] = useState(false);
  useEffect(() => {
    place.current?.querySelector('button')?.focus();
    setReady(true);
  }, []);
  return { isReady, place };
}
