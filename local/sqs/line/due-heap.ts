import type { Message } from '../message/message.ts';

interface Due {
  readonly at: number;
  readonly message: Message;
}

/**
 * Hidden messages, ordered by the time at which they become visible. Entries are never removed from the middle: an
 * entry is stale if its message was deleted or has another time, and is dropped when it reaches the top.
 */
export interface DueHeap {
  entries: Due[];
}

export function createDueHeap(): DueHeap {
  return { entries: [] };
}

function isLive({ at, message }: Due): boolean {
  return (message.state === 'inFlight' || message.state === 'delayed') && message.visibleAt === at;
}

/** Adds a hidden message. `live` is the number of hidden messages; it bounds the number of stale entries. */
export function addDue(heap: DueHeap, message: Message, live: number): void {
  // A consumer that deletes within a second of a 12 h visibility would otherwise keep every message for 12 h.
  if (heap.entries.length > 2 * live + 1024) compact(heap);
  heap.entries.push({ at: message.visibleAt, message });
  siftUp(heap.entries, heap.entries.length - 1);
}

/** Returns the next time at which a message becomes visible; undefined if no message is hidden. */
export function nextDue(heap: DueHeap): number | undefined {
  for (let top = heap.entries[0]; top !== undefined; top = heap.entries[0]) {
    if (isLive(top)) return top.at;
    dropTop(heap.entries);
  }
  return undefined;
}

/** Takes the earliest message that is due at `now`; undefined if no message is due. */
export function takeDue(heap: DueHeap, now: number): Message | undefined {
  const at = nextDue(heap);
  if (at === undefined || at > now) return undefined;
  return dropTop(heap.entries)?.message;
}

function compact(heap: DueHeap): void {
  // A sorted array is a heap.
  heap.entries = heap.entries.filter(isLive).sort((a, b) => a.at - b.at);
}

function dropTop(entries: Due[]): Due | undefined {
  const top = entries[0];
  const last = entries.pop();
  if (last !== undefined && entries.length > 0) {
    entries[0] = last;
    siftDown(entries);
  }
  return top;
}

function siftUp(entries: Due[], start: number): void {
  let index = start;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if (!swapIfLater(entries, parent, index)) return;
    index = parent;
  }
}

function siftDown(entries: Due[]): void {
  let index = 0;
  for (;;) {
    const left = 2 * index + 1;
    const right = left + 1;
    const child = (entries[right]?.at ?? Infinity) < (entries[left]?.at ?? Infinity) ? right : left;
    if (!swapIfLater(entries, index, child)) return;
    index = child;
  }
}

function swapIfLater(entries: Due[], upper: number, lower: number): boolean {
  const [above, below] = [entries[upper], entries[lower]];
  if (above === undefined || below === undefined || above.at <= below.at) return false;
  entries[upper] = below;
  entries[lower] = above;
  return true;
}
