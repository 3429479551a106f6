"""x"""
from random_specs import spec
def text_of(seed): return spec(seed)
