// Which names a pattern of models covers, as the service reads it: `*` is any run of characters, everything else is
// itself. For what a form shows while it is filled in; what is sold is the service's to say.

/** In steps bounded by the product of the lengths, whatever the pattern. */
export function coversName(pattern: string, name: string): boolean {
  let [inPattern, inName, star, from] = [0, 0, -1, 0];
  while (inName < name.length) {
    if (pattern[inPattern] === '*') {
      star = inPattern++;
      from = inName;
    } else if (pattern[inPattern] === name[inName]) {
      inPattern++;
      inName++;
    } else if (star >= 0) {
      inPattern = star + 1;
      inName = ++from;
    } else return false;
  }
  while (pattern[inPattern] === '*') inPattern++;
  return inPattern === pattern.length;
}
