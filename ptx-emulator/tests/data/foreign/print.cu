// The functions that a driver provides: a heap, output and assertions.

#include <cassert>
#include <cstdio>

struct Node {
    int value;
    Node *next;
};

// Each thread makes a list, prints it backwards and frees it.
extern "C" __global__ void lists(int *sums, int length)
{
    Node *first = nullptr;
    for (int i = 0; i < length; i++) {
        Node *node = new Node;
        assert(node != nullptr);
        *node = {i * (int)threadIdx.x, first};
        first = node;
    }
    int sum = 0;
    while (first) {
        Node *next = first->next;
        sum += first->value;
        if (threadIdx.x == 1)
            printf("%d ", first->value);
        delete first;
        first = next;
    }
    sums[threadIdx.x] = sum;
    if (threadIdx.x == 1)
        printf("of %s: %5.2f %lld %c%%\n", "thread 1", sum / 4.0, -(1LL << 40), 'x');
}

extern "C" __global__ void checked(const int *values)
{
    assert(values[threadIdx.x] < 3);
}
