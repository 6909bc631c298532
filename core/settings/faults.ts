import { MOST_FAULTS, SettingError } from '../errors.ts';

/** @throws SettingError with the messages of all faults, if there are any */
export function refuseAll(faults: readonly SettingError[]): void {
  const [first] = faults;
  if (first === undefined) return;
  const more = faults.length - MOST_FAULTS;
  const messages = faults.slice(0, MOST_FAULTS).map(({ message }) => message);
  throw new SettingError(first.field, '', '', [...messages, ...(more > 0 ? [`and ${more} more`] : [])].join('; '));
}
