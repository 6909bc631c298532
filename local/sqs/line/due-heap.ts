import type { Message } from '../message/message.ts';

interface Due {
  readonly at: number;
  readonly message: Message;
}

/**
 * Hidden messages by the time at which they show again. Entries are never removed in the middle: one is stale when its
 * message has been deleted or given another time, and is dropped when it is met.
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

/** Adds a hidden message; `live` is how many messages are hidden in truth, which bounds the stale rest. */
export function addDue(heap: DueHeap, message: Message, live: number): void {
  // A consumer that deletes within a second of a 12 h visibility would otherwise keep every message for 12 h.
  if (heap.entries.length > 2 * live + 1024) compact(heap);
  heap.entries.push({ at: message.visibleAt, message });
  siftUp(heap.entries, heap.entries.length - 1);
}

/** The next moment at which a message shows, or undefined. */
export function nextDue(heap: DueHeap): number | undefined {
  for (let top = heap.entries[0]; top !== undefined; top = heap.entries[0]) {
    if (isLive(top)) return top.at;
    dropTop(heap.entries);
  }
  return undefined;
}

/** Takes one message that is due at `now`, the earliest first. */
export function takeDue(heap: DueHeap, now: number): Message | undefined {
  const at = nextDue(heap);
  if (at === undefined || at > now) return undefined;
  return dropTop(heap.entries)?.message;
}

function compact(heap: DueHeap): void {
  // A list in ascending order is a heap.
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
