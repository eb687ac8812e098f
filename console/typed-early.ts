// Text typed into the first content of a form before the page is drawn: the page's fields take it over, with the focus.

type Field = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement;

interface Typed {
  /** Whether a field of the first content was changed or has the focus. */
  isIn: boolean;
  /** Whether the page has these fields. */
  isFound: boolean;
  carry: () => void;
}

export function findTyped(early: Element | null): Typed {
  const [fields, shown] = [early, document.querySelector('#root main')].map(fieldsIn) as [Field[], Field[]];
  const pairs = fields
    .filter((field) => isChanged(field) || field === document.activeElement)
    .map((field) => [field, counterpart(field, fields, shown)] as const);
  return {
    isIn: pairs.length > 0,
    isFound: pairs.every(([, other]) => other !== undefined),
    carry: () => {
      for (const [field, other] of pairs) if (other !== undefined) carry(field, other);
    },
  };
}

function fieldsIn(place: Element | null): Field[] {
  return [...(place?.querySelectorAll<Field>('input, textarea, select') ?? [])];
}

function counterpart(field: Field, fields: readonly Field[], others: readonly Field[]): Field | undefined {
  const isSame = (other: Field) => nameOf(other) === nameOf(field) && !other.disabled;
  return others.filter(isSame)[fields.filter(isSame).indexOf(field)];
}

function nameOf(field: Field): string {
  return `${field.type} ${field.labels?.[0]?.textContent ?? field.ariaLabel}`;
}

function isChanged(field: Field): boolean {
  if (field instanceof HTMLSelectElement) return [...field.options].some((one) => one.selected && !one.defaultSelected);
  return isChecked(field) ? field.checked !== field.defaultChecked : field.value !== field.defaultValue;
}

function isChecked(field: Field): field is HTMLInputElement {
  return field.type === 'checkbox' || field.type === 'radio';
}

function carry(from: Field, to: Field): void {
  if (isChanged(from)) {
    if (isChecked(from)) to.click();
    else setValue(to, from.value);
  }
  if (from !== document.activeElement) return;
  to.focus();
  if (!(from instanceof HTMLSelectElement) && from.selectionStart !== null && !(to instanceof HTMLSelectElement))
    to.setSelectionRange(from.selectionStart, from.selectionEnd);
}

/** As a user does: React ignores a value that is set on the element itself. */
function setValue(field: Field, value: string): void {
  const { set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(field), 'value') ?? {};
  set?.call(field, value);
  field.dispatchEvent(new Event(field instanceof HTMLSelectElement ? 'change' : 'input', { bubbles: true }));
}
