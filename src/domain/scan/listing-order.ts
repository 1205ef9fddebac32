/** Where a listing shows its new events, once evidence has confirmed it. */
export type ListingOrder = 'unknown' | 'oldest-first' | 'newest-first'
